"""Give back what was read: an autoencoder of text, denoising if what it reads is corrupted (L16, L97).

Encoder and decoder learn together, and lines of text are all they need. With attention the task is trivial:
word i is copied from word i. Without it, as in the preset, everything must pass through one state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from regard.data.example import Example, Line, Pair
from regard.models import Sizes
from regard.tasks.task import Examples, Forced, Prediction, Progress, Row, only
from regard.tasks.translate import Translate
from regard.tasks.writing import Writing
from regard.text import Codec, TextSettings


@final
@dataclass(frozen=True, eq=False)
class Reconstruct(Writing):
    """One vocabulary; to the model it is translation of a text into itself."""

    target: Codec
    name = "reconstruct"
    verb = "give back a text"
    method = "reconstruct"
    hint = "Type a line to be read and said again"

    @classmethod
    def learn(
        cls, examples: Examples, settings: TextSettings, progress: Progress | None = None
    ) -> Reconstruct:
        """One vocabulary."""
        return cls(Codec.train((e.text for e in only(examples(), Line)), settings, progress))

    def to_dict(self) -> dict[str, str]:
        """One document."""
        return {"shared": self.target.to_json()}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Reconstruct:
        """One document."""
        return cls(Codec.from_json(documents["shared"]))

    @cached_property
    def _same(self) -> Translate:
        return Translate(self.target, self.target)

    @property
    def source(self) -> Codec:
        """What is read is cut as what is said."""
        return self.target

    @property
    def sizes(self) -> Sizes:
        """One vocabulary on both sides."""
        return self._same.sizes

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """Every line twice."""
        lines = only(iter(examples), Line)
        return self._same.rows([Pair(line.text, line.text) for line in lines])

    def encode(self, text: str) -> np.ndarray:
        """Pieces and the end symbol."""
        return self._same.encode(text)

    def count(self, text: str) -> int:
        """The end symbol counts."""
        return self._same.count(text)

    def forced(self, text: str, answer: Prediction) -> Forced:
        """The line, what each step said, and what it had read before."""
        return self._same.forced(text, answer)

    def pieces_of(self, row: Row) -> dict[str, tuple[str, ...]]:
        """Both sides."""
        return self._same.pieces_of(row)

    def question(self, example: Example) -> str:
        """The line."""
        assert isinstance(example, Line)
        return example.text

    def answer(self, example: Example) -> str:
        """The line again, as its pieces write it."""
        assert isinstance(example, Line)
        return self.target.decode(self.target.encode(example.text))
