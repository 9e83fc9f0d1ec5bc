"""What a model can no longer do: its answers by length, its memory by distance, its gradients by distance.

Three curves of the lectures (L10, L14, L15), each measured on a trained run and its test:

length     how good answers are, by how many symbols the model reads
distance   how many of the words that question and right answer share are said, by how long ago they were read
gradient   the mean |d z_t / d x_i|, by how many recurrent states lie between position i and step t

And how good it is at lengths that it was not trained on (L104).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final, get_args

from regard.answer.predictor import Predictor
from regard.answer.test_set import Exam
from regard.data.toys import Toy, toy
from regard.errors import UsageError
from regard.evaluate.breakdown import by_distance, grouped
from regard.evaluate.metric import Metric
from regard.models import Model
from regard.tasks import Task
from regard.tasks.task import Progress
from regard.traces.gradient_reach import mean_reach

By = Literal["length", "distance", "gradient"]
WAYS: tuple[By, ...] = get_args(By)
FEWEST = 10  # pairs of a step and a position; the mean of fewer says little


@final
@dataclass(frozen=True)
class Row:
    """One point of a curve: where it is, how many things it is the mean of, and what was measured there."""

    name: str
    at: int | float
    count: int
    values: dict[str, float]
    interval: tuple[float, float] | None = None  # 95%, of the first value

    def as_dict(self) -> dict[str, Any]:
        """For JSON, where what is not finite is null."""
        ends = None if self.interval is None else list(self.interval)
        values = {name: one if math.isfinite(one) else None for name, one in self.values.items()}
        own = {"name": self.name, "at": self.at, "count": self.count}
        return {**own, "values": values, "interval": ends}


@final
@dataclass(frozen=True)
class Curve:
    """A run's answers to a test, taken apart; `across` and `count_of` say in words what is counted."""

    by: By
    across: str
    count_of: str
    rows: tuple[Row, ...]

    @property
    def measures(self) -> tuple[str, ...]:
        """What was measured, the one that is drawn first."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.values))

    @property
    def points(self) -> list[tuple[int | float, float]]:
        """What is drawn."""
        return [(row.at, row.values[self.measures[0]]) for row in self.rows]


def length_curve(task: Task, exam: Exam, predicted: Sequence[str]) -> Curve:
    """How good answers are, by how much of the question the model reads; of a text, the end counts."""
    questions, answers = exam.questions(task), exam.answers(task)
    rows = []
    for group in grouped([task.count(text) for text in questions]):
        metrics = task.by_size(group.of(predicted), group.of(answers))
        rows.append(_row(group.name, group.middle, len(group.members), metrics))
    return Curve("length", task.counted_in, "questions", tuple(rows))


def distance_curve(task: Task, exam: Exam, predicted: Sequence[str]) -> Curve:
    """How many words are said, by how many words lie between where they were read and where they belong."""
    questions, answers = exam.questions(task), exam.answers(task)
    links = list(map(task.kept_words, questions, answers))
    distances = by_distance(links, questions, predicted, answers)
    if not distances:
        raise UsageError(
            "no word of this test stands both in a question and in its right answer",
            where="distance",
            remedy="ask by length or gradient, or take a test with names or numbers, or the toy copy",
        )
    rows = [_row(str(one.distance), one.distance, one.wanted, one.metrics) for one in distances]
    return Curve("distance", "words from reading to writing", "words", tuple(rows))


def gradient_curve(task: Task, exam: Exam, model: Model) -> Curve:
    """How large the gradient is that arrives, by how many states of a recurrent network lie between."""
    rows = [
        Row(str(distance), distance, count, {"gradient": mean})
        for distance, (mean, count) in mean_reach(task, model, exam.examples).items()
        if count >= FEWEST
    ]
    return Curve("gradient", "states between reading and writing", "pairs", tuple(rows))


def _row(name: str, at: int | float, count: int, metrics: Sequence[Metric]) -> Row:
    values = {metric.name: metric.value for metric in metrics}
    return Row(name, at, count, values, metrics[0].interval)


# Trained on short rows, asked about long ones (L104). Only a toy whose length can be chosen gives as many
# questions of every length. What a model cannot read, since it has weights of its own for each position and
# those end, is no score of 0: it is left out, with the reason.


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
