"""Text out: what every task shares whose answer is written piece by piece, whatever it reads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from regard.data.image import PictureSettings
from regard.data.sound import SoundSettings
from regard.evaluate import (
    Comparison,
    Metric,
    bleu,
    chrf,
    coverage,
    exact_match,
    judge_texts,
    never_said,
    paired,
    repetition,
    said_twice,
)
from regard.evaluate.rouge import words_said
from regard.tasks.axis import Tokens, axis_of
from regard.tasks.search import given_of, names_of
from regard.tasks.task import Examples, Prediction, Progress, Reads, Task
from regard.text import END, UNKNOWN, Codec, TextSettings


class Spelled(Task):
    """Its answers are spelled by the pieces of one vocabulary."""

    target: Codec

    def symbol(self, number: int) -> str:
        """A piece of the target's vocabulary."""
        return self.target.piece(number)

    @property
    def named(self) -> Mapping[str, int]:
        """The pieces of the target's vocabulary."""
        return names_of(self.target)

    def given(self, prefix: Sequence[int | str], places: int) -> list[int]:  # noqa: ARG002
        """Pieces of the target's vocabulary."""
        return given_of(self.target, prefix)

    def write(self, ids: Sequence[int]) -> tuple[str, tuple[str, ...]]:
        """Ids as text, and the name of each."""
        return self.target.decode(ids), tuple(self.target.piece(number) for number in ids)

    def said(self, answer: Prediction) -> tuple[list[int], Tokens, Tokens]:
        """What each step of an answer said, its axis, and that of what each step had read."""
        ids = [*answer.ids, *(() if answer.finish == "length" else (END,))]
        target = axis_of(self.target, ids)
        return ids, target, target.later(self.target.piece(self.target.begin))


class Writing(Spelled):
    """Its target is a text, cut by one vocabulary, and judged as translations are."""

    writes_text = True

    def told(self, text: str, answer: str) -> Prediction | None:  # noqa: ARG002
        """The pieces of the answer."""
        return Prediction(answer, ids=tuple(self.target.encode(answer))) if answer else None

    def judge(self, predicted: Sequence[str], answers: Sequence[str]) -> list[Metric]:
        """BLEU and chrF with their signatures, and how often the answer is right to the letter."""
        return [bleu(predicted, answers), chrf(predicted, answers), exact_match(predicted, answers)]

    def report(
        self,
        predicted: Sequence[str],
        answers: Sequence[str],
        *,
        lowercase: bool = False,
        tokenize: str = "13a",
    ) -> list[Metric]:
        """The same, and typical faults of translations (L14): repeating, saying twice, and leaving out."""
        scores = judge_texts(predicted, [answers], lowercase=lowercase, tokenize=tokenize)
        faults = [said_twice(predicted, answers), never_said(predicted, answers)]
        return [*scores, repetition(predicted), coverage(predicted, answers), *faults]

    def beside(
        self, questions: Sequence[str], predicted: Sequence[str], answers: Sequence[str]
    ) -> list[Metric]:
        """How many words of the right answers that the vocabulary does not know were said all the same."""
        wanted = list(map(self.unknown, questions, answers))
        share = words_said(predicted, wanted, "unknown words right", self.unknown_are)
        return [] if share is None else [share]

    unknown_are: ClassVar[str] = "unknown word"

    def unknown(self, question: str, answer: str) -> list[str]:  # noqa: ARG002
        """Words of a right answer that the vocabulary of answers does not know."""
        return [word for word in answer.split() if UNKNOWN in self.target.encode(word)]

    def by_size(self, predicted: Sequence[str], answers: Sequence[str]) -> list[Metric]:
        """Measures that a few short texts have, too: BLEU wants four words, and many texts."""
        return [
            chrf(predicted, answers),
            coverage(predicted, answers),
            exact_match(predicted, answers),
        ]

    def compare(
        self,
        first: Sequence[str],
        second: Sequence[str],
        answers: Sequence[str],
        *,
        lowercase: bool = False,
        tokenize: str = "13a",
    ) -> list[Comparison]:
        """By BLEU and by chrF."""
        return [
            paired(first, second, answers, lowercase=lowercase, tokenize=tokenize),
            paired(first, second, answers, metric="chrf", lowercase=lowercase),
        ]


@final
@dataclass(frozen=True)
class UsualReads:
    """How text is cut; pictures and sounds are read as is usual."""

    text: TextSettings
    picture: PictureSettings = field(default_factory=PictureSettings)
    sound: SoundSettings = field(default_factory=SoundSettings)


class WritingFromFiles(Writing):
    """Its sources are pictures or sounds, whose form (rows, bands) is learned beside the vocabulary."""

    @classmethod
    def learn(
        cls, examples: Examples, settings: TextSettings, progress: Progress | None = None
    ) -> Task:
        """The same, where only the text has settings."""
        return cls.learn_from(examples, UsualReads(settings), progress)

    @classmethod
    @abstractmethod
    def learn_from(
        cls, examples: Examples, settings: Reads, progress: Progress | None = None
    ) -> Task:
        """The vocabulary of the texts, and the form of the first files."""


class WritingFromOneFile(WritingFromFiles):
    """Its one source is a picture or a sound, which Python may give by its path or as numbers."""

    @staticmethod
    @abstractmethod
    def question_of(given: Any, /) -> str:
        """A picture or a sound as the question about it."""

    def one_asked(self, question: Any) -> str:
        """A path, a data URL, or the picture or sound itself, as its verb takes it."""
        written = isinstance(question, str | Mapping)
        return super().one_asked(question if written else self.question_of(question))

    def all_asked(self, questions: Any) -> list[str]:
        """Numbers are one picture or sound; a list, a column of a table or a generator is several."""
        numbers = hasattr(questions, "__array__") and np.asarray(questions).dtype.kind in "biuf"
        one = numbers or isinstance(questions, str | Mapping) or not isinstance(questions, Iterable)
        return [self.one_asked(each) for each in ([questions] if one else questions)]
