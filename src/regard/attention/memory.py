"""What can be attended to: keys, values and the mask over them.

Encoder states, an RNN's annotations and a decoder's cache are all this one type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import final

from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.mask import Mask
from regard.errors import UsageError, kind_of


@final
@dataclass(frozen=True, eq=False)
class Memory:
    """Prepared keys and values (batch, heads, key, width), and which query may see which key.

    A cache is a memory with room to grow: `filled` of its positions are real, and `first` is the position
    of the query that reads it. Its tensors keep their size, so a decoding step has static shapes.

    A memory may carry more about each key, by name: how much attention it has had (coverage, See 2017), or
    what the last query gave it (Chorowski 2015). Scores that look at such things see it; others do not.
    """

    key: Float[Tensor, "batch heads key key_width"]
    value: Float[Tensor, "batch heads key value_width"]
    mask: Mask | None = None
    first: int = 0
    filled: int | None = None
    carried: Mapping[str, Float[Tensor, "batch heads key"]] = field(default_factory=dict)

    def carry(self, **more: Float[Tensor, "batch heads key"]) -> Memory:
        """The same memory, carrying these as well."""
        return replace(self, carried={**self.carried, **more})

    def __post_init__(self) -> None:
        if not (isinstance(self.key, Tensor) and isinstance(self.value, Tensor)):
            raise UsageError(
                f"keys and values are tensors, not {kind_of(self.key)} and {kind_of(self.value)}",
                where="Memory",
                remedy="let an attention make it: attention.remember(key, value, mask)",
            )

    @classmethod
    def room(
        cls,
        like: Tensor,
        *,
        batch: int,
        heads: int,
        capacity: int,
        widths: tuple[int, int],
        mask: Mask | None = None,
    ) -> Memory:
        """An empty cache for `capacity` positions, of the type and on the device of `like`."""
        key = like.new_zeros(batch, heads, capacity, widths[0])
        value = like.new_zeros(batch, heads, capacity, widths[1])
        return cls(key, value, mask, filled=0)

    @property
    def capacity(self) -> int:
        """How many positions there is room for."""
        return self.key.shape[2]

    def append(
        self,
        key: Float[Tensor, "batch heads new key_width"],
        value: Float[Tensor, "batch heads new value_width"],
    ) -> Memory:
        """The cache with these positions written behind the filled ones, in place."""
        start = self.capacity if self.filled is None else self.filled
        end = start + key.shape[2]
        if end > self.capacity:
            raise UsageError(
                f"this memory has room for {self.capacity} positions, and {end} were asked for",
                where="Memory.capacity",
                remedy="make room for more, as in Memory.room(capacity=...)",
            )
        self.key[:, :, start:end] = without_void(key, self.mask, start)
        self.value[:, :, start:end] = without_void(value, self.mask, start)
        return replace(self, first=start, filled=end)

    def seen(self) -> Memory:
        """The filled part alone."""
        if self.filled is None or self.filled == self.capacity:
            return replace(self, filled=None)
        key, value = self.key[:, :, : self.filled], self.value[:, :, : self.filled]
        return replace(self, key=key, value=value, filled=None)

    def select(self, rows: Int[Tensor, " rows"]) -> Memory:
        """The memories of these rows, in this order; only the filled part is copied."""
        mask = None if self.mask is None else self.mask.select(rows)
        carried = {name: tensor.index_select(0, rows) for name, tensor in self.carried.items()}
        key, value = self._rows(self.key, rows), self._rows(self.value, rows)
        return replace(self, key=key, value=value, mask=mask, carried=carried)

    def _rows(self, tensor: Tensor, rows: Tensor) -> Tensor:
        if self.filled is None:
            return tensor.index_select(0, rows)
        # Nobody reads what is not filled, and memory that nobody writes to need not be there.
        chosen = tensor.new_empty(len(rows), *tensor.shape[1:])
        chosen[:, :, : self.filled] = tensor[:, :, : self.filled].index_select(0, rows)
        return chosen

    def allowed(self, queries: int) -> Tensor | None:
        """The mask written out for queries that start at `first`; None when all is allowed."""
        keys = self.key.shape[2]
        mask = None if self.mask is None else self.mask.reduce(queries, keys, self.first)
        if mask is None:
            return None
        batch, heads = self.key.shape[:2]
        return mask.to_bool(
            queries, keys, batch=batch, heads=heads, first=self.first, device=self.key.device
        )


def without_void(
    tensor: Float[Tensor, "batch heads key width"], mask: Mask | None, first: int = 0
) -> Float[Tensor, "batch heads key width"]:
    """Zero what no query may see: 0 times NaN is NaN, so a weight of 0 is not enough."""
    void = None if mask is None else mask.unseen(first + tensor.shape[2])
    return tensor if void is None else tensor.masked_fill(void[:, None, first:, None], 0.0)
