"""What was said so far, for many hypotheses of one source at once.

A row's entries are the keys and values of every symbol that any of its hypotheses read. A hypothesis is a
path through them: it sees the entries it descends from and no others. So to reorder hypotheses is to reorder
paths, and no key ever moves; when the room is full, entries that nobody descends from are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.accelerate.cpu.kv_cache import Kept

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
