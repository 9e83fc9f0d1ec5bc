"""A little data, a task that learned its vocabularies from it, and a tiny model, for each task.

Widths are multiples of 4: only then does a matrix product give a row the same bits among any neighbours.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from regard.data import png, wav
from regard.data.example import (
    Captioned,
    Example,
    Labelled,
    Line,
    Pair,
    Parsed,
    Pointed,
    Spoken,
    Tagged,
)
from regard.data.wav import Clip
from regard.models import (
    ClassifySettings,
    FrontEncoderSettings,
    Model,
    ModelSettings,
    PointSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    TagSettings,
    TransformerReaderSettings,
    TransformerSettings,
    build,
)
from regard.settings.architecture import ConvolutionFrontSettings
from regard.tasks import TASKS, Batch, Task
from regard.text import TextSettings

WORDS = TextSettings(kind="word")

EXAMPLES: dict[str, list[Example]] = {
    "translate": [
        Pair("the red cat", "le chat rouge"),
        Pair("a dog", "un chien"),
        Pair("the dog sees the red cat there", "le chien y voit le chat rouge"),
        Pair("cat", "chat"),
    ],
    "summarise": [
        Pair("the red cat of Otto sat there", "cat of Otto sat"),
        Pair("a dog", "dog"),
        Pair("the dog sees Otto and the red cat there", "dog sees cat"),
    ],
    "tag": [
        Tagged(("they", "light", "the", "light"), ("PRON", "VERB", "DET", "NOUN")),
        Tagged(("she", "works"), ("PRON", "VERB")),
        Tagged(("the", "light", "king", "works", "hard"), ("DET", "ADJ", "NOUN", "VERB", "ADV")),
    ],
    "classify": [
        Labelled("not bad at all", "praise"),
        Labelled("bad", "complaint"),
        Labelled("the soup was never good", "complaint"),
    ],
    "point": [
        Pointed(((0.5, 0.1), (0.2, 0.75), (0.9, 0.3)), (1, 0, 2)),
        Pointed(((0.25, 0.5), (0.125, 0.5)), (1, 0)),
        Pointed(((0.3, 0.1), (0.4, 0.1), (0.1, 0.1), (0.2, 0.1)), (2, 3, 0, 1)),
    ],
    "language": [
        Line("mia had a key . she hid it ."),
        Line("tom had a drum ."),
        Line("where is it ?"),
    ],
    "fill": [
        Line("mia had a key . she hid it under the old stone bridge near the river ."),
        Line("tom had a drum ."),
        Line("where is it ?"),
    ],
    "parse": [
        Parsed(("a", "cat", "sat"), "(S (NP (DT a) (NN cat)) (VP (VBD sat)))"),
        Parsed(
            ("Mia", "saw", "a", "cat"), "(S (NP (NNP Mia)) (VP (VBD saw) (NP (DT a) (NN cat))))"
        ),
        Parsed(("Mia", "sat"), "(S (NP (NNP Mia)) (VP (VBD sat)))"),
    ],
}


def noise(columns: int) -> str:
    """A picture of 16 rows, as a data URL."""
    drawn = np.random.default_rng(columns).integers(0, 256, (16, columns, 1), np.uint8)
    return png.url(drawn)


EXAMPLES["caption"] = [
    Captioned(noise(40), ("a red cat",)),
    Captioned(noise(52), ("a dog sees a cat",)),
    Captioned(noise(120), ("night",)),
]


def hiss(samples: int) -> str:
    """A noise at 8,000 samples a second, as a data URL."""
    drawn = np.random.default_rng(samples).standard_normal(samples) * 0.1
    return wav.url(Clip(drawn.astype(np.float32), 8_000))


EXAMPLES["transcribe"] = [
    Spoken(hiss(900), "a red cat"),
    Spoken(hiss(1500), "a dog sees a cat"),
    Spoken(hiss(300), "night"),
]

RNN = RnnEncoderSettings(width=8)
BLOCKS = TransformerSettings(width=8, layers=2, heads=2, feedforward=12)

MODELS: dict[str, tuple[str, ModelSettings]] = {
    "rnn": ("translate", ModelSettings(encoder=RNN, reader=RnnReaderSettings(width=8))),
    "rnn-before": (
        "translate",
        ModelSettings(encoder=RNN, reader=RnnReaderSettings(width=8, looks="before")),
    ),
    "rnn-fed": (
        "translate",
        ModelSettings(encoder=BLOCKS, reader=RnnReaderSettings(width=8, input_feeding=True)),
    ),
    "transformer": (
        "translate",
        ModelSettings(
            encoder=BLOCKS,
            reader=TransformerReaderSettings(width=8, layers=2, heads=2, feedforward=12),
        ),
    ),
    "tag": ("tag", ModelSettings(encoder=BLOCKS, reader=TagSettings())),
    "classify": ("classify", ModelSettings(encoder=BLOCKS, reader=ClassifySettings())),
    "point": ("point", ModelSettings(encoder=BLOCKS, reader=PointSettings(width=8))),
    "point-rnn": ("point", ModelSettings(encoder=RNN, reader=PointSettings(width=8))),
    "fill": ("fill", ModelSettings(encoder=BLOCKS, reader=TagSettings())),
    "parse": ("parse", ModelSettings(encoder=RNN, reader=RnnReaderSettings(width=8))),
    "caption": (
        "caption",
        ModelSettings(
            encoder=FrontEncoderSettings(width=8, front=ConvolutionFrontSettings(channels=(4, 8))),
            reader=RnnReaderSettings(width=8, looks="before"),
        ),
    ),
    "transcribe": (
        "transcribe",
        ModelSettings(
            encoder=RnnEncoderSettings(cell="lstm", width=8, layers=2, pyramid=1),
            reader=RnnReaderSettings(width=8, score="location-aware", input_feeding=True),
        ),
    ),
    "summarise": (
        "summarise",
        ModelSettings(encoder=RNN, reader=RnnReaderSettings(width=8, copies=True)),
    ),
    "language": (
        "language",
        ModelSettings(reader=TransformerReaderSettings(width=8, layers=2, heads=2, feedforward=12)),
    ),
}
NAMES = tuple(EXAMPLES)


@cache
def task_of(name: str, text: TextSettings = WORDS) -> Task:
    return TASKS[name].learn(lambda: iter(EXAMPLES[name]), text)


def moved(settings: ModelSettings, task: Task, seed: int = 0, far: float = 0.3) -> Model:
    """A model away from its first weights, so that nothing in it is alike by chance."""
    torch.manual_seed(seed)
    model = build(settings, task.sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=far)
    return model.eval()


@cache
def model_of(kind: str) -> Model:
    name, settings = MODELS[kind]
    return moved(settings, task_of(name))


def kind_of(name: str) -> str:
    return "rnn" if name == "translate" else name


def batch_of(name: str, examples: list[Example] | None = None, more: int = 0) -> Batch:
    """The examples as one batch, padded `more` than they need."""
    task = task_of(name)
    rows = task.rows(EXAMPLES[name] if examples is None else examples)
    source = max(len(row["source"]) for row in rows) + more
    target = max(len(row["target"]) for row in rows) + more
    return task.collate(rows, source, target)
