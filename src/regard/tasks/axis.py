"""What stands along the sides of a map: the tokens of a text, the cells of a picture, moments, or items.

Tokens know their words. Weights follow: a word is looked at by as much as all of its pieces together (sum
over keys), and looks as its pieces do on average (mean over queries), so that rows still sum to 1.
"""

from __future__ import annotations

from abc import ABC
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, final

import numpy as np
from jaxtyping import Float
from pydantic import Field

from regard.text import BEGIN, END, PAD, UNKNOWN, Codec
from regard.text.words import starts_word, word_label, word_starts

Weights = Float[np.ndarray, "heads query key"]


class Axis(ABC):  # noqa: B024
    """One side of a map: a name for every place, and the whole that each belongs to, its own or larger."""

    if TYPE_CHECKING:

        @property
        def pieces(self) -> tuple[str, ...]:
            """The name of every place."""

        @property
        def word_ids(self) -> tuple[int, ...]:
            """For each place the number of its whole."""

        @property
        def words(self) -> tuple[str, ...]:
            """The wholes by name."""

    def __len__(self) -> int:
        return len(self.pieces)

    def describe(self) -> dict[str, Any]:
        """All of it as a mapping, for JSON: what its kind has, and the names that every kind has."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return own | {"pieces": self.pieces, "word_ids": self.word_ids, "words": self.words}

    def fitted(self, states: int, rows: int, side: int = 1) -> Axis:  # noqa: ARG002
        """The same, once a front-end has made so many states of it, `rows` to a column of a grid.

        Each state stands for a square of `side` places a side.
        """
        return self


class Places(Axis):
    """An axis whose every place is a whole by itself."""

    @property
    def word_ids(self) -> tuple[int, ...]:
        """Each its own."""
        return tuple(range(len(self)))

    @property
    def words(self) -> tuple[str, ...]:
        """The places."""
        return self.pieces


@final
@dataclass(frozen=True)
class Tokens(Axis):
    """Pieces of a text, and for each the word it belongs to."""

    pieces: tuple[str, ...]
    word_ids: tuple[int, ...]
    words: tuple[str, ...]
    kind: Literal["tokens"] = "tokens"

    @classmethod
    def whole(cls, names: Iterable[str]) -> Tokens:
        """Pieces that are words already."""
        pieces = tuple(names)
        return cls(pieces, tuple(range(len(pieces))), pieces)

    def later(self, first: str) -> Tokens:
        """The same tokens one step late, behind a first one: what each step had read."""
        kept = self.word_ids[:-1]
        words = self.words[: max(kept, default=-1) + 1]
        return Tokens(
            (first, *self.pieces[:-1]), (0, *(number + 1 for number in kept)), (first, *words)
        )

    def renamed(self, names: Mapping[int, str]) -> Tokens:
        """The same with these pieces, and the words that they alone make, by other names."""
        pieces, words = list(self.pieces), list(self.words)
        for place, name in names.items():
            pieces[place] = name
            if self.word_ids.count(self.word_ids[place]) == 1:
                words[self.word_ids[place]] = word_label(name.replace("▁", " ").strip())
        return Tokens(tuple(pieces), self.word_ids, tuple(words))

    def shorter(self) -> Tokens:
        """The same without the last one."""
        ids = self.word_ids[:-1]
        return Tokens(self.pieces[:-1], ids, self.words[: max(ids, default=-1) + 1])


@final
@dataclass(frozen=True)
class Grid(Places):
    """Cells of a picture, column after column; `picture` is the picture itself as a data URL, if known.

    `covered` is how much of the grid's height and width the picture takes: the last cells may reach beyond.
    """

    rows: int
    columns: int
    picture: str = ""
    covered: tuple[float, float] = (1.0, 1.0)
    kind: Literal["grid"] = "grid"

    def fitted(self, states: int, rows: int, side: int = 1) -> Grid:
        """The grid that the front-end made of the picture."""
        columns = states // rows
        covered = (self.rows / (rows * side), self.columns / (columns * side))
        return replace(self, rows=rows, columns=columns, covered=covered)

    @property
    def pieces(self) -> tuple[str, ...]:
        """`row 1, column 3`."""
        return tuple(
            f"row {row + 1}, column {column + 1}"
            for column in range(self.columns)
            for row in range(self.rows)
        )


@final
@dataclass(frozen=True)
class Times(Places):
    """Moments of a sound, in seconds from its beginning to `until`, its end.

    For a picture of it, `waveform` is its loudness from 0 to 1, evenly spaced. As data URLs, `spectrogram` is
    a picture as long as the sound, low tones at the bottom, and `sound` the sound itself.
    """

    seconds: tuple[float, ...]
    waveform: tuple[float, ...] = ()
    spectrogram: str = ""
    sound: str = ""
    until: float = 0.0
    kind: Literal["times"] = "times"

    def fitted(self, states: int, rows: int, side: int = 1) -> Times:  # noqa: ARG002
        """Each state is in the middle of the frames that it was made of: 2, 4, 8 or so in a row."""
        count = len(self.seconds)
        if states in (0, count):
            return self
        stride = next((2**n for n in range(32) if -(-count // 2**n) == states), -(-count // states))
        groups = (self.seconds[start : start + stride] for start in range(0, count, stride))
        return replace(self, seconds=tuple((group[0] + group[-1]) / 2 for group in groups))

    @property
    def pieces(self) -> tuple[str, ...]:
        """`0.25 s`."""
        return tuple(f"{moment:.2f} s" for moment in self.seconds)


@final
@dataclass(frozen=True)
class Items(Places):
    """Items to choose from, each with its numbers where it has some."""

    pieces: tuple[str, ...]
    points: tuple[tuple[float, ...], ...] = ()
    kind: Literal["items"] = "items"


AnyAxis = Annotated[Tokens | Grid | Times | Items, Field(discriminator="kind")]


def joined(axis: Tokens) -> Tokens:
    """The same tokens, where a space that stands alone belongs to the word behind it."""
    alone = [word == "▁" for word in axis.words[:-1]] + [False]
    kept = [number for number, bare in enumerate(alone) if not bare]
    owner = [bisect_left(kept, number) for number in range(len(alone))]
    return Tokens(
        axis.pieces,
        tuple(owner[number] for number in axis.word_ids),
        tuple(axis.words[number] for number in kept),
    )


def merge(
    weights: Float[np.ndarray, "heads query key"], queries: Axis, keys: Axis
) -> Float[np.ndarray, "heads query_word key_word"]:
    """The weights between words."""
    sizes = np.bincount(queries.word_ids, minlength=len(queries.words))
    by_query = _summed(weights, queries) / np.maximum(sizes, 1)[:, None]
    return _summed(by_query.swapaxes(1, 2), keys).swapaxes(1, 2).astype(np.float32)


def typed(codec: Codec, text: str, before: Sequence[int] = (), after: Sequence[int] = ()) -> Tokens:
    """A text that somebody wrote, specials around it: its words as they were written, known or not."""
    pieces = codec.explain(text)
    first, last = ([codec.piece(number) for number in some] for some in (before, after))
    start, end = len(first), len(first) + len(pieces.words)
    return Tokens(
        (*first, *pieces.pieces, *last),
        (*range(start), *(start + own for own in pieces.word_ids), *range(end, end + len(last))),
        (*first, *pieces.words, *last),
    )


def axis_of(codec: Codec, ids: Sequence[int]) -> Tokens:
    """The pieces of these ids and their words, however they were cut: found or typed."""
    pieces = tuple(codec.piece(number) for number in ids)
    ends = _ends(codec, ids)
    written = codec.decode(ids)
    dropped = (ends[-1] if ends else 0) - len(written)  # decoding drops a first space
    text = " " * dropped + written
    word_at = word_starts(text)
    words: list[str] = []
    word_ids: list[int] = []
    begun, stop = -1, 0  # where the word at hand starts, and how far the pieces have come
    for number, piece, end in zip(ids, pieces, ends, strict=True):
        if number in (PAD, BEGIN, END) or piece in codec.settings.symbols:
            words.append(piece)
            begun = -1
        else:
            start = word_at[end - 1]
            fresh = end > stop and starts_word(text[stop])  # a script that writes no spaces
            own = fresh and bool(text[max(begun, 0) : stop].strip())
            if begun < 0 or start > begun or own:
                begun = max(start, stop) if own else start
                words.append("")
            words[-1] = word_label(text[begun:end])
        word_ids.append(len(words) - 1)
        stop = end
    return Tokens(pieces, tuple(word_ids), tuple(words))


def _summed(
    weights: Float[np.ndarray, "heads piece other"], axis: Axis
) -> Float[np.ndarray, "heads word other"]:
    """The pieces of each word added up; what is whole already is left as it is."""
    if axis.word_ids == tuple(range(len(axis.words))):
        return weights
    # The pieces of a word stand together.
    owners, starts = np.unique(axis.word_ids, return_index=True)
    total = np.zeros((len(weights), len(axis.words), weights.shape[2]))
    total[:, owners] = np.add.reduceat(weights, starts, axis=1, dtype=np.float64)
    return total


def _ends(codec: Codec, ids: Sequence[int]) -> list[int]:
    """How many characters are written after each piece; a byte may be only part of one."""
    ends: list[int] = []
    base, run = 0, [UNKNOWN]  # a mark in front keeps the space before a first word
    for number in ids:
        if len(run) == 1 or not codec.piece(number).startswith("<0x"):
            base, run = (ends[-1] if ends else 0), [UNKNOWN]
        run.append(number)
        ends.append(base + len(codec.decode(run)) - 1)
    return ends
