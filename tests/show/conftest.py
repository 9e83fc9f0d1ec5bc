"""Consoles of every kind, and a model's look at a sentence that needs no model."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from rich.console import Console, RenderableType

from regard.run.folder import Run
from regard.run.settings import RunSettings
from regard.tasks import Prediction
from regard.tasks.axis import Tokens
from regard.traces.site import TracedSite
from regard.traces.trace import Trace

Print = Callable[..., str]


def _print(
    picture: RenderableType,
    width: int = 80,
    height: int = 60,
    colour: str | None = None,
    encoding: str = "utf-8",
    environment: dict[str, str] | None = None,
) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    console = Console(
        file=file,
        width=width,
        height=height,
        color_system=colour,
        force_terminal=colour is not None,
        legacy_windows=False,
        _environ=environment or {},
    )
    console.print(picture)
    file.seek(0)
    return file.read()


@pytest.fixture(scope="session")
def printed() -> Print:
    """What a console prints: a file by default, a terminal if it has colours."""
    return _print


def site_of(path: str, queries: str, keys: str, weights: np.ndarray) -> TracedSite:
    """An attention of which only the weights matter."""
    heads, rows, columns = weights.shape
    return TracedSite(
        path,
        "cross",
        0,
        queries,
        keys,
        "dot",
        "softmax",
        "product",
        1.0,
        weights,
        np.log(np.maximum(weights, 1e-9)),
        np.zeros((heads, rows, 1), np.float32),
        np.zeros((heads, columns, 1), np.float32),
        np.zeros((heads, columns, 1), np.float32),
    )


@pytest.fixture(scope="session")
def seen() -> Trace:
    """Two heads that look at five pieces for three."""
    weights = np.random.default_rng(3).dirichlet(np.ones(5), size=(2, 3)).astype(np.float32)
    own = np.ones((1, 5, 5), np.float32) / 5
    answer = Prediction("le chat", -0.5, ("▁le", "▁chat"), (4, 5), (-0.1, -0.3, -0.1))
    axes = {
        "source": Tokens.whole(("▁the", "▁cat", "▁sleep", "ing", "</s>")),
        "target": Tokens.whole(("▁le", "▁chat", "</s>")),
        "inputs": Tokens.whole(("<s>", "▁le", "▁chat")),
    }
    sites = (
        site_of("encoder.blocks.0.self", "source", "source", own),
        site_of("reader.blocks.0.cross", "target", "source", weights),
    )
    return Trace("translate", "", "the cat sleeping", answer, (), axes, sites)


@pytest.fixture(scope="session")
def run_settings() -> RunSettings:
    """The smallest run there is: letters backwards, by a GRU of width 6."""
    return RunSettings.model_validate(
        {
            "data": {"toy": "reverse", "examples": 40},
            "text": {"kind": "word"},
            "model": {
                "encoder": {"kind": "rnn", "width": 6},
                "reader": {"kind": "rnn", "width": 6},
            },
            "batch": {"tokens": 256},
            "decode": {"max_length": 7},
            "train": {"steps": 4, "evaluate_every": 2, "log_every": 1, "evaluate_examples": 3},
        }
    )


@pytest.fixture(scope="session")
def run(run_settings: RunSettings, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that is ready to train."""
    return Run.create(tmp_path_factory.mktemp("runs") / "backwards", run_settings)
