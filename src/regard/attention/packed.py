"""Sequences laid end to end in one row, so that no place is spent on padding.

A packed row has a fixed size whatever it holds, so everything but attention works on one static shape;
attention keeps each sequence to itself by a mask that knows where the sequences begin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Int
from torch import Tensor

from regard.attention.mask import Mask


@final
@dataclass(frozen=True, eq=False)
class Segments:
    """Sequence s fills places starts[s] to starts[s + 1]; what follows the last one is empty.

    `positions` counts each place from the beginning of its sequence; no sequence is longer than `longest`.
    Unused entries of `starts` repeat the last, so that the number of sequences is no part of the shape.
    """

    starts: Int[Tensor, " edges"]
    positions: Int[Tensor, "1 length"]
    longest: int

    @classmethod
    def of(cls, lengths: Int[Tensor, " segments"], size: int | None = None) -> Segments:
        """Sequences of these lengths in a row of `size` places."""
        starts = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]).int()
        places = torch.arange(int(starts[-1]) if size is None else size, device=lengths.device)
        segment = torch.searchsorted(starts, places, right=True) - 1
        positions = (places - starts[segment]) * (places < starts[-1])
        return cls(starts, positions.unsqueeze(0), int(lengths.max()) if len(lengths) else 0)

    @property
    def lengths(self) -> Int[Tensor, " segments"]:
        """How long each sequence is; 0 for unused entries."""
        return self.starts[1:] - self.starts[:-1]

    def number(self, place: Tensor) -> Tensor:
        """Which sequence a place belongs to."""
        return torch.searchsorted(self.starts, place.int().contiguous(), right=True)

    def to(self, device: torch.device, *, non_blocking: bool = False) -> Segments:
        """The same on another device."""
        starts, positions = (
            tensor.to(device, non_blocking=non_blocking) for tensor in (self.starts, self.positions)
        )
        return Segments(starts, positions, self.longest)

    def pinned(self) -> Segments:
        """The same in memory that a GPU reads by itself."""
        return Segments(self.starts.pin_memory(), self.positions.pin_memory(), self.longest)


@final
@dataclass(frozen=True, eq=False)
class Packing:
    """Where the sequences of both sides lie: target s belongs to source s."""

    source: Segments
    target: Segments

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

    def allows(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:  # noqa: ARG002
        """The same sequence on both sides; the empty places behind belong to none."""
        real = (query < self.queries.starts[-1]) & (key < self.keys.starts[-1])
        return (self.queries.number(query) == self.keys.number(key)) & real
