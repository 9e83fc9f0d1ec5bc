"""Any picture to any sequence: captions, formulas, digits to read (Xu 2015; L83)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import final

import numpy as np

from regard.attention.attention import INPUTS, TARGET
from regard.data.columns import ColumnKind, Frames, Ids, Pixels
from regard.data.example import Captioned, Example
from regard.data.image import LOOKED_AT, Picture, PictureForm, question_of, read, source_of
from regard.evaluate import (
    Comparison,
    Metric,
    bleu,
    cider,
    exact_match,
    paired,
    repetition,
)
from regard.models import SOURCE, Sizes
from regard.question import Image, named_files
from regard.tasks.axis import Axis, Grid
from regard.tasks.task import (
    Examples,
    Forced,
    Prediction,
    Progress,
    Reads,
    Row,
    compared,
    only,
)
from regard.tasks.writing import WritingFromOneFile
from regard.text import BEGIN, END, Codec

SEVERAL = "\n"  # between the right answers to one picture


@final
@dataclass(frozen=True, eq=False)
class Caption(WritingFromOneFile):
    """A picture in, text out. A question is the path of a picture, a data URL, or an `Image`.

    Pictures are brought to one form when they are stored, so training decodes none.
    """

    target: Codec
    form: PictureForm
    name = "caption"
    verb = "caption"
    method = "caption"
    hint = "The path of a picture"
    accepts = "image/*"
    counted_in = "columns of the picture"
    chunk = 128
    question_of = staticmethod(question_of)

    @classmethod
    def learn_from(
        cls, examples: Examples, settings: Reads, progress: Progress | None = None
    ) -> Caption:
        """The texts' vocabulary, and the form of the first pictures."""
        some = islice(only(examples(), Captioned), LOOKED_AT)
        form = PictureForm.of((read(one.picture) for one in some), settings.picture)
        lines = (line for one in only(examples(), Captioned) for line in one.texts)
        return cls(Codec.train(lines, settings.text, progress), form)

    @classmethod
    def trial_sizes(cls, *, shared: bool) -> Sizes:  # noqa: ARG003
        """A small picture of grey, high enough for squares of any usual size."""
        return Sizes(target=7, features=64, rows=64, begin=BEGIN, end=END)

    def to_dict(self) -> dict[str, str]:
        """The vocabulary, and the form of a picture."""
        return {"target": self.target.to_json(), "picture": self.form.to_json()}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Caption:
        """Both."""
        return cls(
            Codec.from_json(documents["target"]), PictureForm.from_json(documents["picture"])
        )

    @property
    def sizes(self) -> Sizes:
        """A column has rows x channels numbers."""
        form, size = self.form, self.target.size
        begin = self.target.begin
        return Sizes(target=size, features=form.width, rows=form.rows, begin=begin, end=END)

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Pictures as bytes, each stored once; features as they are."""
        width = self.form.width
        return {SOURCE: Frames(width) if self.form.features else Pixels(width), "target": Ids()}

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """One row for each text of each picture, all pointing at the same frames."""
        return list(self._rows(examples))

    def _rows(self, examples: Sequence[Example]) -> Iterator[Row]:
        for example in only(iter(examples), Captioned):
            frames = self.form.frames(read(example.picture))
            for ids in self.target.encode_batch(list(example.texts)):
                yield {SOURCE: frames, "target": np.array([*ids, END], np.int32)}

    def encode(self, text: str) -> np.ndarray:
        """The columns of the picture that a question names."""
        return self.form.frames(_picture(text))

    def forced(self, text: str, answer: Prediction) -> Forced:
        """The picture as the model saw it, what each step said, and what it had read before."""
        picture = _picture(text)
        frames = self.form.frames(picture)
        ids, target, inputs = self.said(answer)
        grid = Grid(self.form.rows, len(frames), self.form.shown(picture))
        axes: dict[str, Axis] = {SOURCE: grid, TARGET: target, INPUTS: inputs}
        return Forced({SOURCE: frames, "target": np.array(ids, np.int32)}, axes, ids)

    def files(self, text: str) -> tuple[str, ...]:
        """The picture's path, where it has one."""
        return named_files([Image(source_of(text))])

    def pieces_of(self, row: Row) -> dict[str, tuple[str, ...]]:
        """The text alone."""
        return {"target": self.target.pieces(row["target"])}

    def judge(self, predicted: Sequence[str], answers: Sequence[str]) -> list[Metric]:
        """Of one right answer a picture, whether it is given; of several, BLEU and CIDEr against all."""
        lists = [answer.split(SEVERAL) for answer in answers]
        exact = exact_match(predicted, _nearest(predicted, lists))
        overlap = bleu(predicted, _side_by_side(lists))
        if max(map(len, lists), default=1) == 1:
            return [exact, overlap]
        return [overlap, cider(predicted, lists), exact]

    def report(
        self,
        predicted: Sequence[str],
        answers: Sequence[str],
        *,
        lowercase: bool = False,
        tokenize: str = "13a",
    ) -> list[Metric]:
        """The same, with CIDEr for all, and how often an answer repeats itself."""
        lists = [answer.split(SEVERAL) for answer in answers]
        references = _side_by_side(lists)
        return [
            exact_match(predicted, _nearest(predicted, lists)),
            bleu(predicted, references, lowercase=lowercase, tokenize=tokenize),
            cider(predicted, lists),
            repetition(predicted),
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
        """By right answers, where each picture has one; by BLEU, where it has several."""
        lists = [answer.split(SEVERAL) for answer in answers]
        if max(map(len, lists), default=1) == 1:
            return [compared(exact_match, first, second, answers)]
        references = _side_by_side(lists)
        return [paired(first, second, references, lowercase=lowercase, tokenize=tokenize)]

    def share_right(self, predicted: Sequence[str], answers: Sequence[str]) -> Metric:
        """An answer is right that equals any of the right ones."""
        lists = [answer.split(SEVERAL) for answer in answers]
        return exact_match(predicted, _nearest(predicted, lists))


@lru_cache(maxsize=64)
def _opened(path: str) -> Picture:
    return read(path)


def _picture(question: str) -> Picture:
    """The picture that a question is about; one that is its own data is decoded once for both of its uses."""
    origin = source_of(question)
    drawn = isinstance(origin, str) and origin.startswith("data:")
    return _opened(origin) if drawn else read(origin)


def _nearest(predicted: Sequence[str], lists: Sequence[Sequence[str]]) -> list[str]:
    """The right answer that was given, or else the first."""
    pairs = zip(predicted, lists, strict=True)
    return [guess if guess in right else right[0] for guess, right in pairs]


def _side_by_side(lists: Sequence[Sequence[str]]) -> list[list[str]]:
    """Lists of references, as BLEU wants them; to name one twice changes no n-gram count and no length."""
    most = max(map(len, lists), default=1)
    return [[own[number % len(own)] for own in lists] for number in range(most)]
