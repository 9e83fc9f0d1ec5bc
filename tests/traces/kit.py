"""Traces of every kind of model, and models with every score."""

from __future__ import annotations

from functools import cache

from regard.attention import SCORES
from regard.decode import DecodeSettings
from regard.models import (
    ClassifySettings,
    Model,
    ModelSettings,
    PointSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    TagSettings,
    TransformerReaderSettings,
    TransformerSettings,
)
from regard.traces.trace import Trace, look_inside
from tests.tasks.kit import EXAMPLES, MODELS, moved, task_of

BEAM = DecodeSettings(beam=3, max_length=7)
RNN = RnnEncoderSettings(width=8)
BLOCKS = {"width": 8, "layers": 2, "heads": 2, "feedforward": 12, "max_length": 32}


def _scored(score: str) -> dict[str, tuple[str, ModelSettings]]:
    blocks = TransformerSettings(**BLOCKS, score=score)
    reader = TransformerReaderSettings(**BLOCKS, score=score)
    return {
        f"rnn-{score}": (
            "translate",
            ModelSettings(
                encoder=RNN, reader=RnnReaderSettings(width=8, score=score, max_length=32)
            ),
        ),
        f"transformer-{score}": ("translate", ModelSettings(encoder=blocks, reader=reader)),
        f"tag-{score}": ("tag", ModelSettings(encoder=blocks, reader=TagSettings())),
        f"classify-{score}": (
            "classify",
            ModelSettings(encoder=RNN, reader=ClassifySettings(score=score, max_length=32)),
        ),
        f"point-{score}": (
            "point",
            ModelSettings(encoder=RNN, reader=PointSettings(width=8, score=score, max_length=32)),
        ),
        f"language-{score}": ("language", ModelSettings(reader=reader)),
    }


SCORED = {name: made for score in SCORES for name, made in _scored(score).items()}
PLACED = {
    f"transformer-{position}": (
        "translate",
        ModelSettings(
            encoder=TransformerSettings(**BLOCKS, position=position),
            reader=TransformerReaderSettings(**BLOCKS, position=position),
        ),
    )
    for position in ("alibi", "rotary", "learned")
}
REMEMBERING = {
    "language-lstmn": (
        "language",
        ModelSettings(reader=RnnReaderSettings(cell="lstmn", width=8, layers=2, score="none")),
    ),
    "language-sentinel": (
        "language",
        ModelSettings(reader=RnnReaderSettings(width=8, score="none", points_back=4)),
    ),
    "translate-lstmn": (
        "translate",
        ModelSettings(
            encoder=RnnEncoderSettings(cell="lstmn", width=8, bidirectional=False),
            reader=RnnReaderSettings(cell="lstmn", width=8),
        ),
    ),
}
KINDS: dict[str, tuple[str, ModelSettings]] = {**MODELS, **SCORED, **PLACED, **REMEMBERING}


@cache
def model_of(kind: str) -> Model:
    name, settings = KINDS[kind]
    return moved(settings, task_of(name))


def question(kind: str, number: int = 0) -> str:
    name = KINDS[kind][0]
    return task_of(name).question(EXAMPLES[name][number])


@cache
def traced(kind: str, number: int = 0, settings: DecodeSettings = BEAM) -> Trace:
    task = task_of(KINDS[kind][0])
    return look_inside(task, model_of(kind), question(kind, number), settings, name=kind)
