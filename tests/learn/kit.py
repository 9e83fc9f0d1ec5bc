"""A preset, trained on its toy once a session, and how it does on examples it never saw."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from itertools import islice
from pathlib import Path

from regard.data.example import Example
from regard.data.toys import toy
from regard.models import Model
from regard.run.folder import Run
from regard.run.resolve import resolve
from regard.training import train

ASKED = 200


@cache
def home() -> Path:
    memory = Path("/dev/shm")
    path = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None))
    atexit.register(shutil.rmtree, path)
    return path


@cache
def learned(name: str, *changes: str) -> tuple[Run, Model]:
    """The run of a preset, as `regard train --preset NAME --set ...` makes it, and its best model."""
    folder = home() / "-".join([name, *changes]).replace("/", "_")
    settings = resolve(
        name=name, changes=["train.workers=0", "train.evaluate_examples=20", *changes]
    )
    train(folder, settings, device="cpu")
    run = Run.open(folder)
    return run, run.load_model()


def unseen(run: Run, count: int = ASKED) -> list[Example]:
    return list(islice(toy(run.settings.data.toy).examples("test"), count))


def score(run: Run, model: Model) -> float:
    """What decides, in per cent: exact match where there is one, else the first metric."""
    examples = unseen(run)
    questions = [run.task.question(example) for example in examples]
    answers = [run.task.answer(example) for example in examples]
    found = run.task.predict(model, questions, run.settings.decode)
    metrics = {m.name: m.value for m in run.task.judge([one.text for one in found], answers)}
    return metrics.get("exact match", next(iter(metrics.values())))
