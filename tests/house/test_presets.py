"""Every preset that is shipped: it loads, says what it is, and takes a step that moves every weight."""

import re
import tomllib
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.config import parse, to_toml
from regard.data.toys import toy
from regard.models import build
from regard.presets import DEFAULT_OF, FEW_EXAMPLES, about, default_for, names, preset
from regard.run.resolve import resolve
from regard.run.settings import RunSettings
from regard.tasks import TASKS
from regard.tasks.names import example_of
from regard.tasks.objective import Objective
from regard.training.optimise import make_optimiser
from regard.training.step import Learner

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"width": 16, "layers": 2, "heads": 2, "feedforward": 24, "pyramid": 1}


def shrunk(name: str) -> RunSettings:
    """The preset with fewer numbers, and nothing else changed."""
    tree: dict[str, Any] = resolve(name=name).model_dump()
    for part in tree["model"].values():
        if isinstance(part, dict):
            part |= {key: size for key, size in SMALL.items() if part.get(key, 0) > size}
            if part.get("pyramid"):  # which stands on one layer more
                part["pyramid"] = part["layers"] - 1
    return parse(RunSettings, tree)


@pytest.mark.parametrize("name", names())
def test_a_preset_loads_and_is_spelled_out_whole(name):
    settings = resolve(name=name)
    assert about(name)
    assert "task" in preset(name)
    assert example_of(settings.task) is toy(settings.data.toy).kind

    assert parse(RunSettings, tomllib.loads(to_toml(settings))) == settings


@pytest.mark.parametrize("name", names())
def test_a_preset_takes_one_step_that_moves_every_weight(name):
    """A weight that no loss reaches would stop several processes from training together."""
    settings = shrunk(name)
    examples = list(islice(toy(settings.data.toy).examples("train"), 24))
    task = TASKS[settings.task].learn(lambda: iter(examples), settings.text)
    rows = task.rows(examples)
    longest = [
        max(len(row[side]) for row in rows for side in names)
        for names in (task.sources, ["target"])
    ]
    batch = task.collate(rows, *longest)
    torch.manual_seed(settings.seed)
    model = build(settings.model, task.sizes)
    before = {key: value.clone() for key, value in model.named_parameters()}
    optimiser = make_optimiser(model, settings.train)
    loss = Learner(task, model, Objective.of(settings.objective, task, model))(batch) / batch.count
    loss.backward()
    optimiser.step()
    assert loss.isfinite()
    still = [key for key, value in model.named_parameters() if torch.equal(value, before[key])]
    if not model.encoders:  # a bridge from nothing: its bias alone is the first state
        still = [key for key in still if not re.search(r"bridge\.\d+\.weight$", key)]
    assert still == []


def test_every_task_has_a_preset_of_its_own():
    assert DEFAULT_OF.keys() == TASKS.keys()
    for task, name in DEFAULT_OF.items():
        assert resolve(name=name).task == task


def test_the_default_model_follows_the_size_of_the_data(tmp_path):
    """3,000 pairs were given the model that docs/training.md recommends from 10,000 on."""
    widths = {}
    for pairs in (3_000, 10_400):  # two in a hundred are held out
        files = [tmp_path / f"{pairs}.{side}" for side in ("en", "de")]
        for path in files:
            path.write_text("".join(f"{path.suffix} {number}\n" for number in range(pairs)))
        widths[pairs] = resolve(train=files).model.encoder.width
    assert widths == {
        pairs: resolve(name=name).model.encoder.width
        for pairs, name in ((3_000, "vaswani2017-tiny"), (10_400, "vaswani2017-small"))
    }
    assert resolve(toy="phrases").model == resolve(name="vaswani2017-tiny").model


def test_the_default_model_is_the_one_that_the_documents_name():
    text = (ROOT / "docs" / "training.md").read_text("utf-8")
    small, large = (default_for("translate", count) for count in (FEW_EXAMPLES, FEW_EXAMPLES + 1))
    assert f"| up to {FEW_EXAMPLES:,} pairs, a laptop | `-p {small}`, the default then" in text
    assert f"| `-p {large}`, the default from {FEW_EXAMPLES + 1:,} pairs on" in text
    assert f"for {FEW_EXAMPLES:,} to" in about(large)


def test_the_papers_of_the_lectures_are_all_there():
    papers = {name.split("-")[0] for name in names()}
    assert papers >= {
        "sutskever2014",
        "bahdanau2015",
        "luong2015",
        "graves2014",
        "vaswani2017",
        "vinyals2015",
    }
    assert {"luong2015-dot", "luong2015-general", "luong2015-location", "luong2015-concat"} <= {
        *names()
    }
