"""The two calls people come for: `regard.train`, files to a model; `regard.load`, a folder to answers.

>>> import regard
>>> model = regard.train("train.en", "train.de", out="runs/first", settings={"train.steps": 500})
>>> model.translate("two dogs run")
>>> model = regard.load("runs/first")
>>> regard.load().translate("The black cat ate the mouse.", to="fr")
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import box
from regard.answer.predictor import Predictor
from regard.config import merge
from regard.data.formats.beside import sides
from regard.errors import UsageError, kind_of
from regard.run.device import need_gpu
from regard.run.resolve import place

if TYPE_CHECKING:
    from regard.answer.engine import Choice, Note, Precision
    from regard.question import Asked
    from regard.traces.trace import Trace
    from regard.training import Listener

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
    return Predictor.load(
        _model(path), device, precision=precision, weights=weights, strict=strict, note=note
    )


def look(
    model: Predictor | Name | None = None,
    question: Asked | None = None,
    *,
    to: str | None = None,
    beam: int | None = None,
) -> Trace:
    """Where a model looks while it answers a question: a `Trace`, which draws itself in a notebook.

    Without a model, the translator in the box; a model is what `load` gives, or its path or name. Without a
    question, the model's own example.
    """
    from regard.answer.tracing import trace

    if isinstance(model, Predictor):
        predictor = model
    else:
        predictor = Predictor.load(_model("box" if model is None else model), looking=True)
    if question is None:
        card = predictor.card
        question = predictor.example
        if to is None and card is not None and card.directions:
            to = card.directions[0].partition("-")[2]
    return trace(predictor, question, beam=beam, to=to)


def train(  # noqa: PLR0913
    *files: Name,
    out: Name | None = None,
    preset: str | None = None,
    config: Name | None = None,
    start_from: Name | None = None,
    toy: str | None = None,
    to: Name | None = None,
    sources: Sequence[str] = (),
    valid: Name | Sequence[Name] = (),
    task: str | None = None,
    settings: Mapping[str, Any] | None = None,
    fast: bool = False,
    device: str = "auto",
    listener: Listener | None = None,
) -> Predictor:
    """Train on files (or on a toy), or go on with the run in `out`; the trained model.

    Where several sources are read, `to` is the file of the target, or the name of its column, and `sources`
    names them. With `start_from`, begin with the vocabulary and weights of that run or model in the box.
    `settings` are single ones by their path, `{"train.steps": 500}`, or a tree of them. `fast` is for a GPU:
    bfloat16, and packed, compiled steps where the model allows. Progress is shown unless a `listener` hears
    it: `regard.Listener()` keeps silent. A stop asked for by a signal is passed on when the run is safe
    on disk.
    """
    from regard.training import Listener
    from regard.training import train as train_run

    paths = [_path(file, "files") for file in files]
    named: dict[str, Any] = {}
    if to is not None:
        paths, columns = sides(paths, to, sources)
        named = {"data": {"sources": list(columns.sources), "target": columns.target}}
    held_out = valid if isinstance(valid, list | tuple) else [valid]
    folder, resolved = place(
        paths,
        None if out is None else _path(out, "out"),
        name=preset,
        config=None if config is None else _path(config, "config"),
        start=None if start_from is None else str(_path(start_from, "start_from")),
        toy=toy,
        valid=[_path(file, "valid") for file in held_out],
        task=task,
        more=merge(named, nested({} if settings is None else settings)),
    )
    if fast:
        need_gpu(device, "fast=True")
        resolved = resolved.fast()
    if listener is not None and not isinstance(listener, Listener):
        raise UsageError(
            f"{kind_of(listener)} cannot listen",
            where="listener",
            remedy="make a subclass of regard.Listener, and give one of it",
        )
    if listener is None:
        from regard.show.training_progress import TrainingProgress

        with TrainingProgress() as shown:
            outcome = train_run(folder, resolved, shown, device)
    else:
        outcome = train_run(folder, resolved, listener, device)
    if outcome.signal is not None:
        signal.raise_signal(outcome.signal)
    return load(folder, device)


def nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`{"train.steps": 500}` as a tree: `{"train": {"steps": 500}}`."""
    if not isinstance(settings, Mapping):
        raise UsageError(
            f"settings cannot be {kind_of(settings)}",
            where="settings",
            remedy='write them as {"train.steps": 500}',
        )
    tree: dict[str, Any] = {}
    for path, value in settings.items():
        parts = path.split(".") if isinstance(path, str) else [""]
        if not all(parts):
            raise UsageError(
                f"'{path}' is not the path of a setting",
                where="settings",
                remedy="write it as train.steps",
            )
        branch: Any = nested(value) if isinstance(value, Mapping) else _value(path, value)
        for part in reversed(parts):
            branch = {part: branch}
        tree = merge(tree, branch)
    return tree


def _value(path: str, value: Any) -> Any:
    """What a file of settings could hold; a number or a list of NumPy's is one of ours."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    plain = os.fspath(plain) if isinstance(plain, os.PathLike) else plain
    try:
        json.dumps(plain)
    except (TypeError, ValueError):
        what = f"{path}: a setting cannot be {kind_of(value)}"
        remedy = "give a number, a text, true or false, or a list of them"
        raise UsageError(what, where="settings", remedy=remedy) from None
    return plain


def _model(name: Name) -> Path:
    path = _path(name, "path")
    return Path(box.first()) if path == Path("box") and not path.exists() else path


def _path(name: Any, where: str) -> Path:
    """The path that a name stands for."""
    if isinstance(name, str | os.PathLike):
        return Path(name)
    remedy = "give a string or a Path"
    if isinstance(name, Sequence) and where == "files":
        remedy = "give them one by one, or with a star: regard.train(*files)"
    raise UsageError(f"{kind_of(name)} is no path", where=where, remedy=remedy)
