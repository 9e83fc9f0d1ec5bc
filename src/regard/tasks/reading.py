"""How one source of a question is read: a text by its vocabulary, a picture, a sound.

A reading turns a source into ids or frames, says how large they are, and names the axis that attention to
them is drawn along.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from regard.errors import DataError, ModelFileError, UsageError, nearest
from regard.models import SourceSize
from regard.question import Source
from regard.tasks.axis import Axis, typed
from regard.text import END, Codec


class OneReading(ABC):
    """One kind of source."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def size(self) -> SourceSize:
        """What the model must know of it."""

    @abstractmethod
    def encode(self, source: Source | None) -> np.ndarray:
        """Ids or frames; of a source that is missing, none."""

    @abstractmethod
    def axis(self, source: Source) -> Axis:
        """What stands along its side of a map."""

    @abstractmethod
    def to_json(self) -> str:
        """All that it must remember."""

    @classmethod
    @abstractmethod
    def from_json(cls, document: str) -> OneReading:
        """What `to_json` wrote."""

    @staticmethod
    def read(kind: str, document: str) -> OneReading:
        """A reading by the name of its kind."""
        for one in READINGS:
            if one.kind == kind:
                return one.from_json(document)
        known = [one.kind for one in READINGS]
        raise ModelFileError(
            f"no source is a '{kind[:40]}'", where="tokenizer.json", remedy=nearest(kind, known)
        )


@final
@dataclass(frozen=True, eq=False)
class TextReading(OneReading):
    """Pieces of a text and the end symbol; a text that says nothing is a missing one."""

    codec: Codec
    kind = "text"

    @property
    def size(self) -> SourceSize:
        """As many symbols as the vocabulary has."""
        return SourceSize(self.codec.size)

    def encode(self, source: Source | None) -> np.ndarray:
        """Ids."""
        if source is not None and not isinstance(source, str):
            raise UsageError(
                f"a text is wanted, and this is {type(source).__name__}",
                where="question",
                remedy="give a string",
            )
        ids = [*self.codec.encode(source), END] if source and source.strip() else []
        return np.array(ids, np.int32)

    def axis(self, source: Source) -> Axis:
        """Its pieces."""
        assert isinstance(source, str)
        return typed(self.codec, source, after=(END,))

    def to_json(self) -> str:
        """The vocabulary."""
        return self.codec.to_json()

    @classmethod
    def from_json(cls, document: str) -> TextReading:
        """The vocabulary."""
        return cls(Codec.from_json(document))


READINGS: tuple[type[OneReading], ...] = (TextReading,)


def reads_text(source: Source) -> bool:
    """Whether a source is a text."""
    return isinstance(source, str)


def reading_of(source: Source) -> OneReading:
    """How a source that is no text is read."""
    raise DataError(
        f"a source cannot be a {type(source).__name__}",
        where="data.sources",
        remedy="give texts, pictures or sounds",
    )
