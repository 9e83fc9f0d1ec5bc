"""The Transformer's decoder: masked self-attention, attention to the source, feed-forward (L66)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Causal, Mask, Memory, Packed, Segments, remember_all
from regard.layers import (
    DecoderBlock,
    Embedding,
    LayerNorm,
    Memories,
    Stack,
    narrowed,
)
from regard.layers.block import is_sharded, stack_form
from regard.models.decoder import Inputs, TokenDecoder
from regard.models.encoder import Encoded


@final
@dataclass(frozen=True, eq=False)
class TransformerState:
    """Each layer's cache of what was said, and its view of the source."""

    caches: tuple[Memory, ...]
    sources: tuple[Memory | Memories | None, ...]
    position: int


@final
class TransformerDecoder(TokenDecoder[TransformerState]):
    """With no cross-attention in its blocks it is a decoder-only language model."""

    def __init__(
        self,
        embedding: Embedding,
        blocks: Stack[DecoderBlock],
        norm: LayerNorm | None,
        output: nn.Linear,
        *,
        mask: Mask | None = None,
        begin: int,
        end: int,
    ) -> None:
        super().__init__()
        self.embedding, self.blocks, self.norm, self.output = embedding, blocks, norm, output
        self.mask: Mask = Causal() & mask
        self.begin, self.end = begin, end

    def start(self, encoded: Encoded, capacity: int) -> TransformerState:
        """Empty caches; keys and values of the source are worked out here, once."""
        like, batch = self.embedding.table.weight, len(encoded.states)
        like = encoded.states if encoded.states.shape[1] else like
        caches = tuple(
            block.attention.room(like, batch, capacity, self.mask) for block in self.blocks
        )
        return TransformerState(caches, self._sources(encoded, encoded.padding), 0)

    def step(
        self, state: TransformerState, tokens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocabulary"], TransformerState]:
        """One position: its cost does not grow with a second pass over what came before."""
        hidden, after = self.advance(state, tokens)
        return self.output(hidden.squeeze(1)), after

    def advance(
        self, state: TransformerState, tokens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch 1 width"], TransformerState]:
        """The last hidden state of one position, and the state after it."""
        states = self.embedding(tokens.unsqueeze(1), state.position)
        caches = []
        for block, cache, source in zip(self.blocks, state.caches, state.sources, strict=True):
            states, cache_after = block.step(states, cache, source)
            caches.append(cache_after)
        states = states if self.norm is None else self.norm(states)
        after = TransformerState(tuple(caches), state.sources, state.position + 1)
        return states, after

    def hidden(self, encoded: Encoded, inputs: Inputs) -> Float[Tensor, "batch target width"]:
        """All positions at once, each seeing only those before it."""
        states = self.embedding(inputs)
        return self._read(states, self.mask, self._sources(encoded, encoded.padding))

    def hidden_packed(
        self, encoded: Encoded, inputs: Int[Tensor, "1 places"], segments: Segments
    ) -> Float[Tensor, "1 places width"]:
        """The same for many targets in one row, each with its own source."""
        assert encoded.segments is not None, "packed targets read packed sources"
        states = self.embedding(inputs, segments=segments)
        sources = self._sources(encoded, Packed(segments, encoded.segments))
        return self._read(states, self.mask & Packed(segments, segments), sources)

    def _read(
        self, states: Tensor, mask: Mask, sources: Sequence[Memory | Memories | None]
    ) -> Tensor:
        states = narrowed(states)
        form = stack_form(self, states, mask, sources)
        if form is not None:
            return form.run(self, states, mask, sources)
        for block, source in zip(self.blocks, sources, strict=True):
            states = block(states, mask, source)
        return states if self.norm is None else self.norm(states)

    def _sources(self, encoded: Encoded, mask: Mask | None) -> tuple[Memory | Memories | None, ...]:
        """What each layer sees of the source; where blocks are spread over machines, block by block."""
        if encoded.parts:
            states = {name: part.states for name, part in encoded.parts.items()}
            masks = {name: part.padding for name, part in encoded.parts.items()}
            several = [block.several for block in self.blocks if block.several is not None]
            return tuple(heads.remember(states, masks) for heads in several)
        cross = [block.cross for block in self.blocks if block.cross is not None]
        if not cross:
            return (None,) * len(self.blocks)
        if is_sharded(cross[0]):
            return tuple(heads.remember(encoded.states, mask) for heads in cross)
        return remember_all(cross, encoded.states, mask)
