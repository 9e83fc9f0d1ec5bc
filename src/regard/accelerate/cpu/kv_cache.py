"""Keys and values of one layer: as floats, or as integers with one scale for each entry of a head.

A scale is common to all that one product adds up, so it is applied to the few scores, and to the few
weights, and never to the many numbers. Where rows are few the same integers lie in float32: there memory is
no matter, and a product reads them at once.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.accelerate.cpu.product import TINY, constant
from regard.models.compress import LARGEST

FEW = 8  # rows; fewer are kept in float32
Floats = Float[Tensor, "two rows heads entries width"]


@final
@dataclass(frozen=True, eq=False)
class Kept:
    """Keys, then values, with room for more."""

    numbers: Tensor  # two rows heads room width
    scale: Float[Tensor, "two rows heads 1 room"] | None  # None where the numbers are no integers
    largest: int = LARGEST  # of the integers
    # The largest scale among the values that a row sees, where that never changes.
    bound: Float[Tensor, "rows heads 1 1"] | None = None

    @classmethod
    def empty(
        cls,
        rows: int,
        heads: int,
        room: int,
        width: int,
        *,
        whole: bool,
        largest: int = LARGEST,
    ) -> Kept:
        """Room for entries that are to be written; integers beyond int8 lie in float32."""
        narrow = whole and rows >= FEW and largest <= LARGEST
        kind = torch.int8 if narrow else torch.float32
        numbers = torch.empty(2, rows, heads, room, width, dtype=kind)
        return cls(numbers, torch.empty(2, rows, heads, 1, room) if whole else None, largest)

    @property
    def room(self) -> int:
        """Entries that there is room for."""
        return self.numbers.shape[3]

    def of(self, rows: slice) -> Kept:
        """These rows, to be written to."""
        scale = None if self.scale is None else self.scale[:, rows]
        bound = None if self.bound is None else self.bound[rows]
        return replace(self, numbers=self.numbers[:, rows], scale=scale, bound=bound)

    def settled(self, sight: Float[Tensor, "rows 1 1 room"] | None) -> Kept:
        """The same, when nothing more is to be written."""
        if self.scale is None:
            return self
        scale = self.scale[1] if sight is None else self.scale[1] + sight
        return replace(self, bound=scale.amax(-1, keepdim=True))

    def write(self, new: Floats, first: int, sizes: Tensor | None = None) -> None:
        """Put entries in, the first of them here; `sizes` may tell the largest number of each."""
        place = self.numbers[:, :, :, first : first + new.shape[3]]
        if self.scale is None:
            place.copy_(new)
            return
        sizes = new.abs().amax(4, keepdim=True) if sizes is None else sizes
        scale = sizes.clamp_(min=TINY).mul_(constant(1 / self.largest))
        place.copy_((new / scale).round_())
        self.scale[..., first : first + new.shape[3]] = scale.transpose(3, 4)

    def floats(self, filled: int) -> Floats:
        """The entries."""
        numbers = self.numbers[:, :, :, :filled]
        if self.scale is None:
            return numbers
        return numbers * self.scale[..., :filled].transpose(3, 4)

    def unscaled(
        self, which: int, filled: int, scratch: Tensor | None
    ) -> Float[Tensor, "rows_heads filled width"]:
        """The keys (0) or the values (1) without their scales, as floats: on the scratch pad, if need be."""
        numbers = self.numbers[which, :, :, :filled]
        if numbers.dtype == torch.int8:
            scratch = torch.empty(numbers.numel()) if scratch is None else scratch
            numbers = scratch[: numbers.numel()].view(numbers.shape).copy_(numbers)
        return numbers.flatten(0, 1)

    def select(self, rows: Int[Tensor, " rows"], filled: int) -> Kept:
        """The entries of these rows."""
        numbers = self.numbers[:, :, :, :filled].index_select(1, rows)
        scale = None if self.scale is None else self.scale[..., :filled].index_select(1, rows)
        bound = None if self.bound is None else self.bound.index_select(0, rows)
        return replace(self, numbers=numbers, scale=scale, bound=bound).moved(filled, self.room)

    def moved(self, filled: int, room: int) -> Kept:
        """The same entries in another room."""
        if room == filled == self.room:
            return self
        kept = self._another(room)
        kept.numbers[:, :, :, :filled] = self.numbers[:, :, :, :filled]
        if self.scale is not None and kept.scale is not None:
            kept.scale[..., :filled] = self.scale[..., :filled]
        return kept

    def pruned(self, order: Int[Tensor, "rows count"], room: int) -> Kept:
        """These entries of each row and no others, where they are if that has the room."""
        two, rows, heads, before, width = self.numbers.shape
        first = torch.arange(0, two * rows * heads * before, before).view(two, rows, heads, 1)
        place, count = (first + order.unsqueeze(1)).flatten(), order.shape[1]
        entries = self.numbers.view(-1, width).index_select(0, place)
        kept = self if room <= before else self._another(room)
        kept.numbers[:, :, :, :count] = entries.view(two, rows, heads, count, width)
        if self.scale is not None and kept.scale is not None:
            scale = self.scale.view(-1).index_select(0, place)
            kept.scale[..., :count] = scale.view(two, rows, heads, 1, count)
        return kept

    def _another(self, room: int) -> Kept:
        two, rows, heads, _, width = self.numbers.shape
        numbers = self.numbers.new_empty(two, rows, heads, room, width)
        scale = None if self.scale is None else self.scale.new_empty(two, rows, heads, 1, room)
        return replace(self, numbers=numbers, scale=scale)


def give_back() -> None:
    """Return to the system what others took and left; where that is not known how, it stays taken."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


# What was said so far, for many hypotheses of one source at once.
# A row's entries are the keys and values of every symbol that any of its hypotheses read. A hypothesis is a
# path through them: it sees the entries it descends from and no others. So to reorder hypotheses is to
# reorder paths, and no key ever moves; when the room is full, entries that nobody descends from are
# dropped.

ROOM = 16  # symbols that there is always room for
PROMISED = 128
ALIVE = 0.9  # where more than this share of entries is descended from, dropping the others is not worth it
# Added to the score of what may not be seen; where all is hidden, all is alike, not NaN.
HIDDEN = -1e30


@final
@dataclass(frozen=True, eq=False)
class Entries:
    """Keys and values layer by layer, and which of them each slot of a row sees: 0, or HIDDEN.

    Without `sight` a row is one hypothesis, which sees all.
    """

    layers: tuple[Kept, ...]
    sight: Float[Tensor, "rows slots room"] | None = None
    filled: int = 0
    limit: int | None = None  # with more than this, entries are dropped; at first, all the room

    @classmethod
    def none(
        cls,
        rows: int,
        heads: Iterable[tuple[int, int]],
        capacity: int = ROOM,
        *,
        whole: bool = False,
    ) -> Entries:
        """Before the first symbol; each layer has its number of heads and their width.

        Room for some of the `capacity` is promised now: what is never written to takes no memory.
        """
        room = max(ROOM, min(capacity, PROMISED))
        layers = (Kept.empty(rows, count, room, width, whole=whole) for count, width in heads)
        return cls(tuple(layers))

    @property
    def slots(self) -> int:
        """Hypotheses a row."""
        return 1 if self.sight is None else self.sight.shape[1]

    @property
    def rows(self) -> int:
        """Sources."""
        return self.layers[0].numbers.shape[1]

    @property
    def room(self) -> int:
        """Entries a row can have."""
        return self.layers[0].room

    def extended(self) -> Entries:
        """With the next symbol of each slot, which alone sees it; its keys and values are to be written."""
        most = self.room if self.limit is None else self.limit
        entries = self if self.filled + self.slots <= most else self._with_room()
        before, after = entries.filled, entries.filled + entries.slots
        if entries.sight is not None:
            new = entries.sight[:, :, before:after].fill_(HIDDEN)
            new.diagonal(0, 1, 2).zero_()
        return replace(entries, filled=after)

    def select(
        self, rows: Int[Tensor, " rows"] | None, hypotheses: Int[Tensor, " rows_slots"]
    ) -> Entries:
        """These rows (or all), whose slots continue these hypotheses, counted over all rows."""
        layers, count = self.layers, self.rows
        if rows is not None:
            layers = tuple(layer.select(rows, self.filled) for layer in layers)
            count = len(rows)
        if self.sight is None and len(hypotheses) == count:
            return replace(self, layers=layers)
        sight, limit = self.sight, self.limit
        if sight is None:
            slots = len(hypotheses) // max(1, count)
            limit, room = self.filled + ROOM * slots, self.room * slots
            layers = tuple(layer.moved(self.filled, room) for layer in layers)
            sight = torch.zeros(self.rows, 1, room)
        chosen = sight.flatten(0, 1).index_select(0, hypotheses).unflatten(0, (count, -1))
        return replace(self, layers=layers, sight=chosen, limit=limit)

    def _with_room(self) -> Entries:
        """With room for more: where that is enough by dropping what no hypothesis descends from, in place."""
        if self.sight is None:
            room = self.filled + max(ROOM, self.filled // 2)
            layers = tuple(layer.moved(self.filled, room) for layer in self.layers)
            return replace(self, layers=layers)
        alive = (self.sight[:, :, : self.filled] == 0).any(1)
        count = int(alive.sum(1).max())
        limit = count + max(ROOM // 2 * self.slots, count // 4)
        room = max(self.room, limit)
        if count > ALIVE * self.filled and self.filled + self.slots <= min(limit, self.room):
            return replace(self, limit=min(limit, self.room))
        order = alive.int().argsort(dim=1, descending=True, stable=True)[:, :count]
        sight = self.sight.new_empty(*self.sight.shape[:2], room)
        sight[:, :, :count] = self.sight.gather(2, order.unsqueeze(1).expand(-1, self.slots, -1))
        layers = tuple(layer.pruned(order, room) for layer in self.layers)
        return Entries(layers, sight, count, limit)
