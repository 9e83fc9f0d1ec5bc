"""A test: questions with their right answers, what a run's own test is, and what answers to it are worth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import final

import torch

from regard.data.example import Example
from regard.data.source import splits, understand
from regard.errors import DataError, RegardError, UsageError
from regard.evaluate import Comparison, Metric, judge_texts
from regard.models import Model
from regard.run.corpus import Corpus
from regard.run.settings import RunSettings
from regard.tasks import Task
from regard.tasks.batch import groups
from regard.tasks.names import example_of
from regard.tasks.task import device_of

__all__ = ["Exam", "compare", "judge", "judge_texts", "perplexity"]

TOKENS = 4096  # in a batch, to work out a loss


@final
@dataclass(frozen=True)
class Exam:
    """What a model is asked in the end, and where it comes from."""

    name: str
    examples: tuple[Example, ...]

    @classmethod
    def of(cls, settings: RunSettings, most: int | None = None) -> Exam:
        """A toy's test split, the test files, the test part of a folder; else what was held out."""
        corpus = Corpus.of(settings.data, settings.task)
        if corpus.toy is not None:
            name = f"test examples of {corpus.toy.name}"
            return cls._first(name, corpus.toy.examples("test"), most)
        if settings.data.test:
            paths = [Path(path) for path in settings.data.test]
            return cls.read(paths, settings, most)
        source = splits(
            [Path(path) for path in settings.data.train],
            example_of(settings.task),
            columns=settings.data.columns,
        ).test
        if source is None:
            return cls._first("held-out examples", corpus.examples("valid"), most)
        names = ", ".join(path.name for path in source.paths)
        return cls._first(f"test examples of {names}", source.examples(), most)

    @classmethod
    def own(cls, settings: RunSettings, most: int | None, remedy: str) -> Exam:
        """The same; where its files are not here any more, an error with this remedy."""
        try:
            return cls.of(settings, most)
        except RegardError as fault:
            raise UsageError(
                f"this run's own test set cannot be read: {fault.what}", fault.where, remedy
            ) from None

    @classmethod
    def read(cls, paths: Sequence[Path], settings: RunSettings, most: int | None = None) -> Exam:
        """Test files; an empty line of them is a question, too."""
        hint, columns = example_of(settings.task), settings.data.columns
        source = understand(paths, hint, keep_empty=True, columns=columns)
        names = ", ".join(path.name for path in source.paths)
        return cls._first(f"test examples of {names}", source.examples(), most)

    @classmethod
    def _first(cls, name: str, examples: Iterator[Example], most: int | None) -> Exam:
        taken = tuple(islice(examples, most))
        if not taken:
            raise DataError(
                "this test asks nothing", where=name, remedy="name a file with examples"
            )
        return cls(name, taken)

    def questions(self, task: Task) -> list[str]:
        """What is asked, as `predict` takes it."""
        return [task.question(example) for example in self.examples]

    def answers(self, task: Task) -> list[str]:
        """What is right, as `predict` would write it."""
        return [task.answer(example) for example in self.examples]


def judge(
    task: Task,
    predicted: Sequence[str],
    answers: Sequence[str],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> list[Metric]:
    """What answers are worth, the metric that decides first."""
    return task.report(predicted, answers, lowercase=lowercase, tokenize=tokenize)


def compare(
    task: Task,
    first: Sequence[str],
    second: Sequence[str],
    answers: Sequence[str],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> list[Comparison]:
    """Whether the second run's answers are better than the first's, or only luckier."""
    return task.compare(first, second, answers, lowercase=lowercase, tokenize=tokenize)


@torch.inference_mode()
def perplexity(task: Task, model: Model, lines: Sequence[Example]) -> Metric:
    """Among how many pieces the model hesitates: exp of a piece's mean loss. Other pieces, other numbers."""
    rows = task.rows(lines)
    total, count = 0.0, 0
    for group in groups([len(row["target"]) for row in rows], TOKENS):
        batch = task.collate([rows[member] for member in group.members], 1, group.length)
        total += float(task.loss(model.eval(), batch.to(device_of(model))))
        count += batch.count
    signature = f"unit:piece|pieces:{count}|vocabulary:{task.sizes.target}|n:{len(rows)}"
    value = math.exp(min(total / count, 700.0))
    return Metric("perplexity", value, signature, higher_is_better=False)
