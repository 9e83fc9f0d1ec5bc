"""How good a model is at each length: trained on short rows, asked about long ones (L104).

Only a toy whose length can be chosen gives as many questions of every length. What a model cannot read, since
it has weights of its own for each position and those end, is no score of 0: it is left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from regard.answer.predictor import Predictor
from regard.data.toys import Toy, toy
from regard.errors import UsageError
from regard.evaluate import Metric
from regard.tasks.task import Progress


@final
@dataclass(frozen=True)
class Point:
    """What a model scored at one length; without a metric, `fault` says why it could not be asked."""

    length: int
    metric: Metric | None = None
    fault: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        metric = None if self.metric is None else self.metric.as_dict()
        return {"length": self.length, "metric": metric, "fault": self.fault}


def toy_of(predictor: Predictor) -> Toy:
    """The toy that a model learned, if its lengths can be chosen."""
    name = predictor.run.settings.data.toy
    if name is None or toy(name).sized is None:
        raise UsageError(
            "this model did not learn a toy whose lengths can be chosen",
            where=str(predictor.run.folder),
            remedy="train one: regard train --toy before -p one-trick; copy and reverse have lengths, too",
        )
    return toy(name)


def by_length(
    predictor: Predictor, lengths: Sequence[int], count: int, advance: Progress | None = None
) -> list[Point]:
    """The metric that decides, at each length, over as many test examples; none of them was trained on."""
    learned, task = toy_of(predictor), predictor.run.task
    points = []
    for length in lengths:
        examples = list(learned.examples_of(length, count))
        questions = [task.question(example) for example in examples]
        fault = _too_long(predictor, questions, length)
        if fault:
            points.append(Point(length, fault=fault))
        else:
            longest = max(predictor.run.settings.decode.max_length, 2 * length + 2)
            answers = predictor.predict(questions, max_length=longest)
            right = [task.answer(example) for example in examples]
            metric = task.judge([one.text for one in answers], right)[0]
            points.append(Point(length, metric))
        if advance is not None:
            advance(1)
    return points


def _too_long(predictor: Predictor, questions: Sequence[str], length: int) -> str:
    """Why these cannot be asked, if they cannot."""
    task, room = predictor.run.task, predictor.room
    if room.read is not None and max(map(task.count, questions)) > room.read:
        return f"it has positions of its own for {room.read} symbols, and was asked to read more"
    if room.written is not None and task.searches and length + 1 > room.written:
        return (
            f"it has positions of its own for {room.written} symbols, and was asked to write more"
        )
    return ""
