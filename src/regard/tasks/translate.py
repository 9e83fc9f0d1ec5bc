"""Any sequence to any other: translation, spelling to sound, commands to actions (L80)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import final

import numpy as np

from regard.attention import Packing, Room
from regard.attention.attention import INPUTS, TARGET
from regard.data.columns import Ragged
from regard.data.example import Example, Pair
from regard.evaluate.breakdown import same_words
from regard.models import SOURCE, Sizes
from regard.models.readers import IGNORE
from regard.tasks.axis import Axis, typed
from regard.tasks.batch import Batch, filled
from regard.tasks.task import Examples, Forced, Joined, Prediction, Progress, Row, only
from regard.tasks.writing import Writing
from regard.text import END, PAD, Codec, TextSettings


@final
@dataclass(frozen=True, eq=False)
class Translate(Writing):
    """Source text in, target text out. Both end with the end symbol, so that even nothing is something."""

    source: Codec
    target: Codec
    name = "translate"
    verb = "translate"
    method = "translate"
    hint = "Type a sentence to translate"

    @classmethod
    def learn(
        cls, examples: Examples, settings: TextSettings, progress: Progress | None = None
    ) -> Translate:
        """One vocabulary over both sides, or one a side."""

        def lines(*sides: str) -> Iterator[str]:
            for pair in only(examples(), Pair):
                yield from (getattr(pair, side) for side in sides)

        if settings.shared:
            both = Codec.train(lines("source", "target"), settings, progress)
            return cls(both, both)
        source = Codec.train(lines("source"), settings, progress)
        return cls(source, Codec.train(lines("target"), settings, progress))

    def to_dict(self) -> dict[str, str]:
        """One document when the vocabulary is shared, else two."""
        if self.source is self.target:
            return {"shared": self.source.to_json()}
        return {"source": self.source.to_json(), "target": self.target.to_json()}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Translate:
        """Shared, or source and target."""
        if "shared" in documents:
            both = Codec.from_json(documents["shared"])
            return cls(both, both)
        source, target = (Codec.from_json(documents[side]) for side in ("source", "target"))
        return cls(source, target)

    @property
    def sizes(self) -> Sizes:
        """Two vocabularies, or one shared."""
        # Two sides that cut differently may still share one table, as those of imported models do.
        shared = self.source is self.target or (
            self.source.settings.shared and self.source.numbers_as(self.target)
        )
        return Sizes(
            self.source.size, self.target.size, begin=self.target.begin, end=END, shared=shared
        )

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """Ids of both sides, each with its end symbol."""
        pairs = list(only(iter(examples), Pair))
        sources = self.source.encode_batch([pair.source for pair in pairs])
        targets = self.target.encode_batch([pair.target for pair in pairs])
        return [
            {"source": np.array([*s, END], np.int32), "target": np.array([*t, END], np.int32)}
            for s, t in zip(sources, targets, strict=True)
        ]

    def block(self, examples: Sequence[Example]) -> dict[str, Ragged]:
        """The same, without a small array for every text."""
        pairs = list(only(iter(examples), Pair))
        return {
            "source": _ended(self.source.encode_batch([pair.source for pair in pairs])),
            "target": _ended(self.target.encode_batch([pair.target for pair in pairs])),
        }

    def pack(self, rows: Joined, sizes: tuple[int, int], room: Room, longest: int) -> Batch:
        """Each target begins with the start sign, whatever lies before it."""
        (source, source_lengths), (target, target_lengths) = rows["source"], rows["target"]
        inputs = np.roll(target, 1)
        inputs[target_lengths.cumsum() - target_lengths] = self.target.begin
        return Batch.of(
            source=filled(source, sizes[0], PAD),
            lengths=None,
            inputs=filled(inputs, sizes[1], PAD),
            targets=filled(target, sizes[1], IGNORE),
            count=len(target),
            packing=Packing.of((source_lengths, target_lengths), sizes, room, longest),
        )

    def encode(self, text: str) -> np.ndarray:
        """Pieces and the end symbol; nothing for a text that says nothing."""
        ids = [*self.source.encode(text), END] if text.strip() else []
        return np.array(ids, np.int32)

    def count(self, text: str) -> int:
        """The end symbol counts, even behind nothing."""
        return len(self.source.encode(text)) + 1

    def forced(self, text: str, answer: Prediction) -> Forced:
        """Source, what each step said, and what it had read before."""
        ids, target, inputs = self.said(answer)
        source = np.array([*self.source.encode(text), END], np.int32)
        axes: dict[str, Axis] = {
            SOURCE: typed(self.source, text, after=(END,)),
            TARGET: target,
            INPUTS: inputs,
        }
        return Forced({"source": source, "target": np.array(ids, np.int32)}, axes, ids)

    @property
    def prose(self) -> Codec:
        """The source's vocabulary."""
        return self.source

    def pieces_of(self, row: Row) -> dict[str, tuple[str, ...]]:
        """Both sides."""
        return {
            "source": self.source.pieces(row["source"]),
            "target": self.target.pieces(row["target"]),
        }

    def kept_words(self, question: str, answer: str) -> list[tuple[int, int]]:
        """Words that the question and its right answer share."""
        return same_words(question, answer)


def _ended(texts: Sequence[list[int]]) -> Ragged:
    """Ids end to end, each text with its end symbol."""
    for ids in texts:
        ids.append(END)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    return Ragged(np.fromiter(chain.from_iterable(texts), np.int32, int(lengths.sum())), lengths)
