"""One tiny run of every kind, made without training: untrained weights answer as strictly as trained ones."""

from functools import cache
from pathlib import Path
from unittest.mock import patch

import torch

from regard.answer.predictor import Predictor
from regard.run.folder import Run
from regard.run.resolve import resolve
from regard.tasks.names import task_for

RNN = {"kind": "rnn", "width": 12}
BLOCKS = {"kind": "transformer", "width": 12, "layers": 2, "heads": 3, "feedforward": 17}

# What each learns, and what it is made of.
KINDS = {
    "rnn": ("reverse", {"encoder": RNN, "reader": RNN}),
    "rnn-before": (
        "copy",
        {"encoder": {**RNN, "cell": "lstm"}, "reader": {**RNN, "looks": "before", "layers": 2}},
    ),
    "transformer": ("reverse", {"encoder": BLOCKS, "reader": BLOCKS}),
    "learned": (
        "reverse",
        {
            "encoder": {**BLOCKS, "position": "learned", "max_length": 19},
            "reader": {**BLOCKS, "position": "learned", "max_length": 7},
        },
    ),
    "tag": ("parts", {"encoder": {**RNN, "cell": "lstm"}, "reader": {"kind": "tag"}}),
    "classify": ("feelings", {"encoder": BLOCKS, "reader": {"kind": "classify"}}),
    "point": ("sort", {"encoder": RNN, "reader": {"kind": "point", "width": 12}}),
    "hull": ("hull", {"encoder": BLOCKS, "reader": {"kind": "point", "width": 12}}),
    "language": ("stories", {"reader": {**BLOCKS, "position": "rotary"}}),
    "language-learned": (
        "stories",
        {"reader": {**BLOCKS, "position": "learned", "max_length": 13}},
    ),
}


def make(folder: Path, kind: str, seed: int = 1) -> Path:
    """A run folder with a model in it."""
    toy, model = KINDS[kind]
    more = {
        "seed": seed,
        "model": model,
        "decode": {"beam": 2, "max_length": 9},
    }
    with patch.dict("regard.data.toys.toy._COUNTS", {"train": 40, "valid": 5}):
        run = Run.create(folder, resolve(toy=toy, more=more))
    model = run.build_model()
    with torch.no_grad():  # away from the smooth beginning, where all answers are alike
        for parameter in model.parameters():
            parameter.mul_(1.5)
    run.save_model(model.state_dict())
    return folder


@cache
def questions(kind: str, count: int) -> tuple[str, ...]:
    """Held-out questions of many lengths."""
    from regard.data.toys import toy
    from regard.tasks import TASKS

    name = KINDS[kind][0]
    task = TASKS[task_for(toy(name).kind)]
    examples = toy(name).examples("test", count)
    return tuple(task.question(None, example) for example in examples)  # needs no vocabulary


def load(folder: Path, **choices) -> Predictor:
    return Predictor.load(folder, "cpu", note=lambda message: None, **choices)
