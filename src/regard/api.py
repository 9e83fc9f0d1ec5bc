"""The two calls people come for: `regard.train`, files to a model; `regard.load`, a folder to answers.

>>> import regard
>>> model = regard.train("train.en", "train.de", out="runs/first", settings={"train.steps": 500})
>>> model.translate("two dogs run")
>>> model = regard.load("runs/first")
>>> regard.load().translate("The black cat ate the mouse.", to="fr")
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import box
from regard.config import merge
from regard.errors import UsageError
from regard.run.predictor import Predictor
from regard.run.resolve import place

if TYPE_CHECKING:
    from regard.run.engine import Note, Precision
    from regard.run.forms import Choice
    from regard.train import Listener

Name = str | Path


def load(
    path: Name = "box",
    device: str = "auto",
    *,
    precision: Precision = "float32",
    weights: Choice = "stored",
    strict: bool = False,
    note: Note | None = None,
) -> Predictor:
    """A trained model, from its run folder or a zip archive of it, ready to answer.

    Or one that came with the package: by its name (`regard models` lists them), or its translator.
    """
    if str(path) == "box" and not Path(path).exists():
        path = box.first("translate")
    return Predictor.load(
        path, device, precision=precision, weights=weights, strict=strict, note=note
    )


def train(
    *files: Name,
    out: Name | None = None,
    preset: str | None = None,
    config: Name | None = None,
    start_from: Name | None = None,
    toy: str | None = None,
    valid: Sequence[Name] = (),
    task: str | None = None,
    settings: Mapping[str, Any] | None = None,
    device: str = "auto",
    listener: Listener | None = None,
) -> Predictor:
    """Train on files (or on a toy), or go on with the run in `out`; the trained model.

    With `start_from`, begin with the vocabulary and weights of that run or model in the box.
    `settings` are single ones by their path, `{"train.steps": 500}`, or a tree of them. Progress is shown
    unless a `listener` hears it: `regard.train.Listener()` keeps silent. A stop asked for by a signal is
    passed on when the run is safe on disk.
    """
    from regard.train import train as train_run

    folder, resolved = place(
        [Path(file) for file in files],
        None if out is None else Path(out),
        name=preset,
        config=None if config is None else Path(config),
        start=None if start_from is None else str(start_from),
        toy=toy,
        valid=[Path(file) for file in valid],
        task=task,
        more=nested(settings or {}),
    )
    if listener is None:
        from regard.show.progress import TrainingProgress

        with TrainingProgress() as shown:
            outcome = train_run(folder, resolved, shown, device)
    else:
        outcome = train_run(folder, resolved, listener, device)
    if outcome.signal is not None:
        signal.raise_signal(outcome.signal)
    return load(folder, device)


def nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`{"train.steps": 500}` as a tree: `{"train": {"steps": 500}}`."""
    tree: dict[str, Any] = {}
    for path, value in settings.items():
        branch: Any = nested(value) if isinstance(value, Mapping) else value
        for part in reversed(path.split(".")):
            if not part:
                raise UsageError(
                    f"'{path}' is not the path of a setting",
                    where="settings",
                    remedy="write it as train.steps",
                )
            branch = {part: branch}
        tree = merge(tree, branch)
    return tree
