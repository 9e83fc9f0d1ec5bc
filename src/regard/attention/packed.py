"""Sequences laid end to end in one row, so that no place is spent on padding.

A packed row has a fixed size whatever it holds, so everything but attention works on one static shape;
attention keeps each sequence to itself by a mask that knows where the sequences begin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Int, Integer
from torch import Tensor

from regard.attention.mask import Mask


@final
@dataclass(frozen=True)
class Room:
    """How many sequences and tiles there may be: part of a shape, where their number is not."""

    sequences: int
    tiles: int


@final
@dataclass(frozen=True, eq=False)
class Segments:
    """Sequence s fills places starts[s] to starts[s + 1]; what follows the last one is empty.

    `positions` counts each place from the beginning of its sequence, and `numbers` says which that is, or
    -1 for none; no sequence is longer than `longest`. `tiles` (`tiling.py`) is how a GPU divides the work,
    `paired` if for both sides of a `Packing`. Unused entries of `starts` repeat the last, and unused tiles
    are empty, so that how many there are is no part of the shape.
    """

    starts: Int[Tensor, " edges"]
    positions: Int[Tensor, "1 length"]
    numbers: Int[Tensor, " length"]
    tiles: Int[Tensor, "tiles three"]
    longest: int
    paired: bool

    @classmethod
    def of(cls, lengths: Int[Tensor, " segments"], size: int | None = None) -> Segments:
        """Sequences of these lengths in a row of `size` places."""
        known = lengths.numpy(force=True)
        places = int(known.sum()) if size is None else size
        (tiles,) = tiled([known], [places])
        longest = int(known.max()) if len(known) else 0
        room = Room(len(known), len(tiles))
        return cls.laid_out(known, places, tiles, room, longest, paired=False).to(lengths.device)

    @classmethod
    def laid_out(
        cls, lengths: Lengths, size: int, tiles: Tiles, room: Room, longest: int, *, paired: bool
    ) -> Segments:
        """The same, with room for more."""
        starts = np.zeros(room.sequences + 1, np.int32)
        np.cumsum(lengths, out=starts[1 : len(lengths) + 1])
        end = int(starts[len(lengths)])
        starts[len(lengths) + 1 :] = end
        positions, numbers = np.zeros((1, size), np.int64), np.full(size, -1, np.int32)
        positions[0, :end] = np.arange(end) - np.repeat(starts[: len(lengths)], lengths)
        numbers[:end] = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        programs = np.zeros((room.tiles, 3), np.int32)
        programs[: len(tiles)] = tiles
        of = torch.from_numpy
        return cls(of(starts), of(positions), of(numbers), of(programs), longest, paired)

    @property
    def lengths(self) -> Int[Tensor, " segments"]:
        """How long each sequence is; 0 for unused entries."""
        return self.starts[1:] - self.starts[:-1]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All of them: what a recording needs in place."""
        return self.starts, self.positions, self.numbers, self.tiles

    def to(self, device: torch.device, *, non_blocking: bool = False) -> Segments:
        """The same on another device."""
        return self._each(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pinned(self) -> Segments:
        """The same in memory that a GPU reads by itself."""
        return self._each(lambda tensor: tensor.pin_memory())

    def _each(self, change: Callable[[Tensor], Tensor]) -> Segments:
        starts, positions, numbers, tiles = map(change, self.tensors)
        return Segments(starts, positions, numbers, tiles, self.longest, self.paired)


@final
@dataclass(frozen=True, eq=False)
class Packing:
    """Where the sequences of both sides lie: target s belongs to source s, in the same tile."""

    source: Segments
    target: Segments

    @classmethod
    def of(
        cls,
        lengths: tuple[Lengths, Lengths],
        sizes: tuple[int, int],
        room: Room | None = None,
        longest: int | None = None,
    ) -> Packing:
        """Sequences of these lengths, side by side, in rows of these sizes."""
        tiles = tiled(lengths, sizes)
        room = room or Room(len(lengths[0]), len(tiles[0]))
        longest = longest or max(int(side.max(initial=0)) for side in lengths)
        source, target = (
            Segments.laid_out(*side, room, longest, paired=True)
            for side in zip(lengths, sizes, tiles, strict=True)
        )
        return cls(source, target)

    def to(self, device: torch.device, *, non_blocking: bool = False) -> Packing:
        """The same on another device."""
        source, target = (
            side.to(device, non_blocking=non_blocking) for side in (self.source, self.target)
        )
        return Packing(source, target)

    def pinned(self) -> Packing:
        """The same in memory that a GPU reads by itself."""
        return Packing(self.source.pinned(), self.target.pinned())


@final
@dataclass(frozen=True, eq=False)
class Packed(Mask):
    """A query sees the keys of its own sequence. Two sides may be packed apart, as in cross-attention."""

    queries: Segments
    keys: Segments

    @property
    def is_tiled_together(self) -> bool:
        """Whether both sides were tiled together, so that a kernel may go by it."""
        return self.is_within or (self.queries.paired and self.keys.paired)

    @property
    def is_within(self) -> bool:
        """Whether queries and keys are the same places."""
        return self.queries.starts is self.keys.starts

    def allows(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:  # noqa: ARG002
        """The same sequence on both sides; the empty places behind belong to none."""
        query_numbers, key_numbers = self.queries.numbers[query], self.keys.numbers[key]
        return (query_numbers == key_numbers) & (key_numbers >= 0)


# How a packed row is tiled for the programs of a GPU.
# A matrix unit takes a tile of 64 places whether or not they are there. So short sequences that lie next to
# one another share a tile, and a long one has several. What lies behind the last sequence has tiles as
# well: it must be written, if only with zeros.

TILE = 64

Lengths = Integer[np.ndarray, " sequences"]
Tiles = Int[np.ndarray, "tiles three"]


def tiled(lengths: Sequence[Lengths], sizes: Sequence[int]) -> list[Tiles]:
    """For each side, one line a program: where its group of sequences begins and ends, and its tile of that.

    Both sides (queries and keys) have the same groups, none of which divides a sequence. The longest come
    first: nobody then waits for them in the end.
    """
    edges = _edges(lengths, sizes)
    ends = [np.searchsorted(edge, edge[:-1] + TILE, side="right") - 1 for edge in edges]
    after = np.maximum(np.min(ends, axis=0), np.arange(1, len(edges[0])))
    first = _firsts(after)
    after = after[first]
    tiles = np.max([-(-(edge[after] - edge[first]) // TILE) for edge in edges], axis=0)
    order = np.argsort(-tiles, kind="stable")
    first, after, tiles = first[order], after[order], tiles[order]
    part = np.arange(tiles.sum()) - np.repeat(tiles.cumsum() - tiles, tiles)
    first, after = first.repeat(tiles), after.repeat(tiles)
    return [np.stack([edge[first], edge[after], part], 1).astype(np.int32) for edge in edges]


def _edges(lengths: Sequence[Lengths], sizes: Sequence[int]) -> list[Int[np.ndarray, " edges"]]:
    """Where sequences begin and end on each side, then tiles of what is left, of which all have as many."""
    left = [size - int(side.sum()) for side, size in zip(lengths, sizes, strict=True)]
    tiles = TILE * np.arange(1, -(-max(left) // TILE) + 1)
    return [
        np.concatenate([[0], side.cumsum(), side.sum() + np.minimum(tiles, rest)])
        for side, rest in zip(lengths, left, strict=True)
    ]


def _firsts(after: Int[np.ndarray, " sequences"]) -> Int[np.ndarray, " groups"]:
    """The first sequence of each group, when a group that begins with s ends before after[s]."""
    ends, firsts, at = after.tolist(), [], 0
    while at < len(ends):
        firsts.append(at)
        at = ends[at]
    return np.array(firsts, np.int64)
