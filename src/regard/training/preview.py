"""What training would make of a corpus: how text is cut, how long rows are, how batches fill."""

from __future__ import annotations

from array import array
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, final

import numpy as np

from regard.run.corpus import Corpus, refuse_empty
from regard.run.folder import CHUNK, Report
from regard.run.settings import RunSettings
from regard.tasks import TASKS, Task
from regard.training.feed import plan_for

SHOWN = 3
PERCENTILES = (50, 90, 99, 100)


@final
@dataclass(frozen=True)
class Preview:
    """`lengths` has the percentiles of each side, `cut` the pieces of each side of the first rows."""

    vocabulary: dict[str, int]
    cut: tuple[dict[str, tuple[str, ...]], ...]
    lengths: dict[str, dict[int, int]]
    examples: int
    skipped: int
    shapes: int
    waste: float
    batches: int
    steps_an_epoch: int
    epochs: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def preview(settings: RunSettings, report: Report | None = None) -> Preview:
    """Learn the vocabulary, go over the training examples once, and plan an epoch; nothing is kept."""
    report = report or (lambda _what, _done: None)
    corpus = Corpus.of(settings.data, settings.task)
    task = TASKS[settings.task].learn(
        lambda: corpus.examples("train"),
        settings.text,
        lambda done: report("learning the vocabulary", done),
    )
    first = task.rows(list(islice(corpus.examples("train"), SHOWN)))
    lengths = _lengths(task, corpus, report)
    plan = plan_for(task, lengths.__getitem__, settings.batch, settings.seed)
    batches = len(plan.epoch(0))
    steps = -(-batches // settings.train.accumulate)
    epochs = settings.train.steps / steps
    sides = ("source", "target") if task.sides == "both" else (task.sides,)
    return Preview(
        vocabulary=_vocabulary(task),
        cut=tuple(task.pieces_of(row) for row in first),
        lengths={side: _percentiles(lengths[side]) for side in sides},
        examples=plan.count,
        skipped=plan.skipped,
        shapes=len(plan.shapes),
        waste=plan.waste,
        batches=batches,
        steps_an_epoch=steps,
        epochs=min(epochs, float(settings.train.epochs or epochs)),
    )


def _lengths(task: Task, corpus: Corpus, report: Report) -> dict[str, np.ndarray]:
    """Four bytes an example and side; specials counted, as the model will see them."""
    found = {side: array("i") for side in ("source", "target")}
    examples = corpus.examples("train")
    while chunk := list(islice(examples, CHUNK)):
        for row in task.rows(chunk):
            for side, lengths in found.items():
                lengths.append(len(row[side]))
        report("measuring lengths", len(found["source"]))
    refuse_empty("train", len(found["source"]))
    return {side: np.frombuffer(lengths, np.int32) for side, lengths in found.items()}


def _percentiles(lengths: np.ndarray) -> dict[int, int]:
    values = np.percentile(lengths, PERCENTILES, method="inverted_cdf")
    return dict(zip(PERCENTILES, values.astype(int).tolist(), strict=True))


def _vocabulary(task: Task) -> dict[str, int]:
    sizes = task.sizes
    if sizes.shared:
        return {"shared": sizes.source}
    named = {"source": sizes.source, "target": sizes.target, "labels": sizes.labels}
    return {name: size for name, size in named.items() if size}
