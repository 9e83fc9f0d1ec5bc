"""The decoder in its lean form: the same `start`, `step` and `select`, with little in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.accelerate.cpu.cpu_block import Feed, Norm, Reading, attend
from regard.accelerate.cpu.cpu_encoder import Table, anchor, hidden, portions
from regard.accelerate.cpu.kv_cache import FEW, Entries, Kept, give_back
from regard.accelerate.cpu.product import Product, alone
from regard.models.decoder import Decoder, Inputs, Logits, Selectable
from regard.models.encoder import Encoded

Rows = Float[Tensor, "rows width"]
PAD = 1 << 20  # floats that are on the scratch pad at once


@final
@dataclass(frozen=True, eq=False)
class LeanState(Selectable):
    """What was said, and what each layer sees of the source: one view a row, which all its slots share.

    The scratch pad, where some rows at a time become floats, is one for all layers and steps: memory that is
    taken and given back gets holes.
    """

    cache: Entries
    sources: tuple[Kept, ...]
    sight: Float[Tensor, "rows 1 1 key"] | None
    rows: int
    position: int = 0
    scratch: Tensor | None = None

    def extended(self) -> LeanState:
        """With room for the next symbol of each hypothesis."""
        cache, scratch = self.cache.extended(), self.scratch
        if cache.layers[0].numbers.dtype == torch.int8:
            each = max(kept.numbers[0, 0].numel() for kept in (*cache.layers, *self.sources))
            needed = max(each, min(PAD, each * self.rows))
            if scratch is None or len(scratch) < needed:
                scratch = torch.empty(needed)
        return replace(self, cache=cache, scratch=scratch)

    def select(self, rows: Int[Tensor, " hypotheses"]) -> LeanState:
        """These hypotheses, in this order; as long as they stay with their rows nothing large moves."""
        row = rows // self.cache.slots
        kept, counts = torch.unique_consecutive(row, return_counts=True)
        if len(counts) and bool((counts != counts[0]).any()):
            kept = row  # no common number of slots: every hypothesis becomes a row of its own
        if len(kept) == self.rows and bool((kept == torch.arange(self.rows)).all()):
            return replace(self, cache=self.cache.select(None, rows))
        sources = tuple(source.select(kept, source.room) for source in self.sources)
        sight = None if self.sight is None else self.sight.index_select(0, kept)
        cache = self.cache.select(kept, rows)
        return replace(self, cache=cache, sources=sources, sight=sight, rows=len(kept))


@final
@dataclass(frozen=True, eq=False)
class LeanBlock:
    """Self-attention, attention to the source if there is one, feed-forward.

    `source` makes the keys and values that `cross` reads.
    """

    attention: Reading
    source: Product | None
    cross: Reading | None
    feed: Feed


@final
class LeanDecoder(Decoder[LeanState]):
    """A Transformer decoder for generation alone, on a CPU: it cannot be trained or watched."""

    multiple = 1
    crowd = 64  # more would gain nothing in products, and lose what the processor's cache has

    def __init__(
        self,
        table: Table,
        blocks: tuple[LeanBlock, ...],
        norm: Norm | None,
        output: Product,
        *,
        begin: int,
        end: int,
        whole: bool = False,
    ) -> None:
        super().__init__()
        self.table, self.blocks, self.norm, self.output = table, blocks, norm, output
        self.whole = whole  # keys and values are kept as integers
        self.begin, self.end = begin, end
        self.anchor = anchor()

    def start(self, encoded: Encoded, capacity: int) -> LeanState:
        """Nothing said; keys and values of the source are worked out here, once for all slots."""
        rows = len(encoded.states)
        if self.whole and rows >= FEW:
            give_back()
        sizes = [(block.attention.heads, block.attention.width) for block in self.blocks]
        cache = Entries.none(rows, sizes, capacity, whole=self.whole)
        if self.blocks[0].source is None:
            return LeanState(cache, (), None, rows)
        length = encoded.states.shape[1]
        void = None if encoded.padding is None else encoded.padding.unseen(length)
        sight = hidden(void)
        states = encoded.states
        if void is not None and sight is not None and bool(void.all(1).any()):
            states = states.masked_fill(void.unsqueeze(2), 0.0)
        with alone(whole=self.whole):
            sources = tuple(self._seen(block, states).settled(sight) for block in self.blocks)
        return LeanState(cache, sources, sight, rows)

    def _seen(self, block: LeanBlock, states: Float[Tensor, "rows length width"]) -> Kept:
        """Keys and values of the source for one layer."""
        assert block.source is not None
        assert block.cross is not None
        (rows, length), (heads, width) = states.shape[:2], (block.cross.heads, block.cross.width)
        kept = Kept.empty(rows, heads, length, width, whole=self.whole)
        for part in portions(rows, length):
            both = block.source(states[part].flatten(0, 1))
            both = both.view(-1, length, 2, heads, width).permute(2, 0, 3, 1, 4)
            kept.of(part).write(both, 0)
        return kept

    def step(
        self, state: LeanState, tokens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocabulary"], LeanState]:
        """One symbol of each hypothesis."""
        state = state.extended()
        with alone(whole=self.whole):
            states = self.table(tokens.unsqueeze(1), state.position)
            for number, block in enumerate(self.blocks):
                states = _say(block.attention, states, state, number)
                if block.cross is not None:
                    states = _look_up(block.cross, states, state, number)
                states = block.feed(states)
            states = states if self.norm is None else self.norm(states)
            logits = self.output(states)
        return logits, replace(state, position=state.position + 1)

    def forward(self, encoded: Encoded, inputs: Inputs) -> Logits:
        """Teacher forcing by steps: for comparison, not for speed."""
        state, logits = self.start(encoded, inputs.shape[1]), []
        for tokens in inputs.unbind(1):
            scores, state = self.step(state, tokens)
            logits.append(scores)
        return torch.stack(logits, 1)


def _say(reading: Reading, states: Rows, state: LeanState, number: int) -> Rows:
    """Self-attention: the newest keys and values go behind the others, then all that is seen is read."""
    cache = state.cache
    layer, slots, filled = cache.layers[number], cache.slots, cache.filled
    rows, heads, width = cache.rows, reading.heads, reading.width
    three = reading.into(reading.residual.open(states)).view(rows, slots, 3, heads, width)
    three = three.permute(2, 0, 3, 1, 4)
    sizes = None if layer.scale is None else three.abs().amax(4, keepdim=True)
    layer.write(three[1:], filled - slots, None if sizes is None else sizes[1:])
    sight = None if cache.sight is None else cache.sight[:, None, :, :filled]
    size = None if sizes is None else sizes[0]
    context = attend(three[0], layer, filled, sight, state.scratch, size)
    return reading.close(context.transpose(1, 2).reshape(len(states), -1), states)


def _look_up(reading: Reading, states: Rows, state: LeanState, number: int) -> Rows:
    """Cross-attention: all slots of a row read the one view of its source."""
    query = reading.into(reading.residual.open(states))
    query = query.view(state.rows, -1, reading.heads, reading.width).transpose(1, 2)
    source = state.sources[number]
    context = attend(query, source, source.room, state.sight, state.scratch)
    return reading.close(context.transpose(1, 2).reshape(len(states), -1), states)
