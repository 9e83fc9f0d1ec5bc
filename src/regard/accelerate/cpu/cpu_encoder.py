"""The encoder in its lean form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.accelerate.cpu.cpu_block import Feed, Norm, Reading, attend
from regard.accelerate.cpu.kv_cache import HIDDEN, Kept
from regard.accelerate.cpu.product import alone
from regard.attention import Added, Padding
from regard.layers import Source
from regard.models.encoder import Encoded, Encoder

CACHED = 256  # words
FINE = (
    255  # the largest integer of keys and values that are read once, and need not be kept in int8
)


@final
@dataclass(frozen=True, eq=False)
class Table:
    """Embeddings, as floats or as integers with one scale a row, and the positions added to them."""

    rows: Tensor
    scale: Tensor | None
    factor: float
    position: Added | None
    norm: Norm | None

    def __call__(
        self, ids: Int[Tensor, "batch length"], first: int = 0
    ) -> Float[Tensor, "rows width"]:
        """Symbols at positions `first`, `first` + 1, .., all rows of all sequences under each other."""
        every = ids.flatten()
        states = self.rows.index_select(0, every)
        if self.scale is None:
            states.mul_(self.factor)
        else:
            states = states * self.scale.index_select(0, every).mul_(self.factor).unsqueeze(1)
        if self.position is not None:
            states.view(*ids.shape, -1).add_(self.position.table(ids.shape[1], first))
        return states if self.norm is None else self.norm(states)


@final
class LeanEncoder(Encoder):
    """Every word reads every other; the products are packed, and positions are rows of one matrix."""

    def __init__(
        self,
        table: Table,
        blocks: tuple[tuple[Reading, Feed], ...],
        norm: Norm | None,
        width: int,
        *,
        whole: bool = False,
    ) -> None:
        nn.Module.__init__(self)  # its embedding is a table, not a module
        self.table, self.blocks, self.norm, self.width = table, blocks, norm, width
        self.whole = whole
        self.anchor = anchor()

    def forward(self, source: Source, padding: Padding | None = None) -> Encoded:
        """One state a word."""
        batch, length = source.shape[:2]
        void = None if padding is None else padding.unseen(length)
        if void is not None:
            source = source.masked_fill(void, 0)
        sight = hidden(void)
        states = torch.empty(batch, length, self.width)
        with alone(whole=self.whole):
            for part in portions(batch, length):
                words, seen = source[part], None if sight is None else sight[part]
                rows = self.table(words)
                for reading, feed in self.blocks:
                    rows = feed(_read(reading, rows, len(words), seen, whole=self.whole))
                rows = rows if self.norm is None else self.norm(rows)
                states[part] = rows.view(*words.shape, -1)
        return Encoded(states, padding)


def portions(batch: int, length: int) -> Iterator[slice]:
    """Rows of a batch, as many at once as the processor's cache has room for."""
    some = max(1, CACHED // max(1, length))
    return (slice(first, first + some) for first in range(0, batch, some))


def hidden(void: Tensor | None) -> Float[Tensor, "batch 1 1 key"] | None:
    """What to add to scores so that void keys get no weight; None where all are real."""
    if void is None or not bool(void.any()):
        return None
    return torch.zeros(void.shape).masked_fill_(void, HIDDEN)[:, None, None]


def _read(
    reading: Reading,
    states: Float[Tensor, "rows width"],
    batch: int,
    sight: Tensor | None,
    *,
    whole: bool,
) -> Float[Tensor, "rows width"]:
    opened = reading.residual.open(states)
    three = reading.into(opened).view(batch, -1, 3, reading.heads, reading.width)
    query, key, value = three = three.permute(2, 0, 3, 1, 4)
    if whole:
        length = three.shape[3]
        kept = Kept.empty(batch, reading.heads, length, reading.width, whole=True, largest=FINE)
        kept.write(three[1:], 0)
        context = attend(query, kept, length, sight)
    else:
        context = F.scaled_dot_product_attention(query, key, value, sight, scale=1.0)
    return reading.close(context.transpose(1, 2).reshape(len(states), -1), states)


def anchor() -> nn.Parameter:
    """A model of packed products has no parameters; by this one, which says nothing, its device is known."""
    return nn.Parameter(torch.zeros(1), requires_grad=False)
