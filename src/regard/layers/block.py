"""The Transformer's blocks: attention and feed-forward in turn, each beside a residual (L64, L66)."""

from __future__ import annotations

from typing import final

from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Heads, Mask, Memory
from regard.layers.feedforward import FeedForward
from regard.layers.norm import Residual
from regard.layers.several import Memories, SeveralHeads

States = Float[Tensor, "batch length width"]


@final
class EncoderBlock(nn.Module):
    """Self-attention, then feed-forward: x = x + attention(norm(x)); x = x + feedforward(norm(x)).

    A residual says where its norm stands, before the sub-layer or behind the sum.
    """

    def __init__(
        self, attention: Heads, feedforward: FeedForward, residuals: tuple[Residual, Residual]
    ) -> None:
        super().__init__()
        self.attention, self.feedforward = attention, feedforward
        self.attention_residual, self.feedforward_residual = residuals

    def forward(self, states: States, mask: Mask | None = None) -> States:
        """Each position reads all that the mask allows."""
        states = self.attention_residual(states, lambda x: self.attention.within(x, mask))
        return self.feedforward_residual(states, self.feedforward)


@final
class DecoderBlock(nn.Module):
    """Masked self-attention, attention to the source or to several if there are any, then feed-forward."""

    def __init__(
        self,
        attention: Heads,
        cross: Heads | SeveralHeads | None,
        feedforward: FeedForward,
        residuals: tuple[Residual, Residual, Residual],
    ) -> None:
        super().__init__()
        # In this order: a gradient's length is a sum over parameters, and sums know their order.
        self.attention = attention
        self.cross = cross if isinstance(cross, Heads) else None
        self.several = cross if isinstance(cross, SeveralHeads) else None
        self.feedforward = feedforward
        self.attention_residual, cross_residual, self.feedforward_residual = residuals
        self.cross_residual = None if cross is None else cross_residual

    def forward(self, states: States, mask: Mask, source: Memory | Memories | None) -> States:
        """All positions at once, as in training."""
        states = self.attention_residual(states, lambda x: self.attention.within(x, mask))
        return self._rest(states, source)

    def step(
        self, states: States, cache: Memory, source: Memory | Memories | None
    ) -> tuple[States, Memory]:
        """The newest positions alone; what came before lies in the cache."""
        opened = self.attention_residual.open(states)
        cache = self.attention.append(cache, opened)
        states = self.attention_residual.close(states, self.attention(opened, cache))
        return self._rest(states, source), cache

    def _rest(self, states: States, source: Memory | Memories | None) -> States:
        reads = self.several if isinstance(source, Memories) else self.cross
        if reads is not None and self.cross_residual is not None and source is not None:
            states = self.cross_residual(states, lambda x: reads(x, source))
        return self.feedforward_residual(states, self.feedforward)
