"""A test: questions with their right answers, what a run's own test is, and what answers to it are worth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import final

import torch

from regard.data.example import Example, Line
from regard.data.readers import splits, understand
from regard.errors import DataError
from regard.evaluate import (
    Comparison,
    Metric,
    accuracy,
    bleu,
    chrf,
    coverage,
    exact_match,
    paired,
    repetition,
    token_accuracy,
)
from regard.evaluate.comparison import paired_counts
from regard.models import Model
from regard.run.corpus import Corpus
from regard.run.settings import RunSettings
from regard.tasks import Classify, Language, Tag, Task, Translate
from regard.tasks.groups import groups
from regard.tasks.names import example_of
from regard.tasks.task import device_of

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
            return cls.read([Path(path) for path in settings.data.test], settings.task, most)
        source = splits(
            [Path(path) for path in settings.data.train], example_of(settings.task)
        ).test
        if source is None:
            return cls._first("held-out examples", corpus.examples("valid"), most)
        names = ", ".join(path.name for path in source.paths)
        return cls._first(f"test examples of {names}", source.examples(), most)

    @classmethod
    def read(cls, paths: Sequence[Path], task: str, most: int | None = None) -> Exam:
        """Test files; an empty line of them is a question, too."""
        source = understand(paths, example_of(task), keep_empty=True)
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
    """What answers are worth, the metric that decides first; of translations, their typical faults, too."""
    if not isinstance(task, Translate):
        return task.judge(predicted, answers)
    return [
        *judge_texts(predicted, [answers], lowercase=lowercase, tokenize=tokenize),
        repetition(predicted),
        coverage(predicted, answers),
    ]


def judge_texts(
    predicted: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> list[Metric]:
    """Texts against one or several lists of right ones; exactly right is only against one list."""
    found = [
        bleu(predicted, references, lowercase=lowercase, tokenize=tokenize),
        chrf(predicted, references, lowercase=lowercase),
    ]
    return [*found, exact_match(predicted, references[0])] if len(references) == 1 else found


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
    if isinstance(task, Translate):
        return [
            paired(first, second, answers, lowercase=lowercase, tokenize=tokenize),
            paired(first, second, answers, metric="chrf", lowercase=lowercase),
        ]
    if isinstance(task, Tag):
        truth, *guesses = ([text.split() for text in texts] for texts in (answers, first, second))
        before, after = (token_accuracy(guess, truth) for guess in guesses)
        right = [[_equal(*pair) for pair in zip(guess, truth, strict=True)] for guess in guesses]
    else:
        both = (first, second)
        measure = accuracy if isinstance(task, Classify) else exact_match
        before, after = (measure(guess, answers) for guess in both)
        right = [[int(a == b) for a, b in zip(guess, answers, strict=True)] for guess in both]
    return [paired_counts(before, after, *right)]


@torch.inference_mode()
def perplexity(task: Language, model: Model, lines: Sequence[Line]) -> Metric:
    """Among how many pieces the model hesitates: exp of a piece's mean loss. Other pieces, other numbers."""
    rows = task.rows(lines)
    total, count = 0.0, 0
    for group in groups([len(row["target"]) for row in rows], TOKENS):
        batch = task.collate([rows[member] for member in group.members], 1, group.length)
        total += float(task.loss(model.eval(), batch.to(device_of(model))))
        count += batch.count
    signature = f"unit:piece|pieces:{count}|vocabulary:{task.codec.size}|n:{len(rows)}"
    value = math.exp(min(total / count, 700.0))
    return Metric("perplexity", value, signature, higher_is_better=False)


def _equal(guess: Sequence[str], truth: Sequence[str]) -> int:
    return sum(one == other for one, other in zip(guess, truth, strict=True))
