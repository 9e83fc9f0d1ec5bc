"""The Transformer's blocks: attention and feed-forward in turn, each behind a residual (L64, L66)."""

from __future__ import annotations

from typing import final

from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Heads, Mask, Memory
from regard.layers.feedforward import FeedForward
from regard.layers.norm import Residual, Unclosed, close_last, open_next
from regard.layers.several import Memories, SeveralHeads
from regard.layers.stack import is_sharded

States = Float[Tensor, "batch length width"]


@final
class EncoderBlock(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(
        self, attention: Heads, feedforward: FeedForward, residuals: tuple[Residual, Residual]
    ) -> None:
        super().__init__()
        self.attention, self.feedforward = attention, feedforward
        self.attention_residual, self.feedforward_residual = residuals

    def forward(self, states: States, mask: Mask | None = None) -> States:
        """Each position reads all that the mask allows."""
        return close_last(self.follow(Unclosed(states), mask))

    def follow(self, before: Unclosed, mask: Mask | None) -> Unclosed:
        """The same from where the block before left off to where the next one begins."""
        residual = self.attention_residual
        states, opened = open_next(before, residual)
        debt = residual.debt(states, self.attention.output)
        found = self.attention.within(opened, mask, late=debt is not None)
        states, opened = residual.pass_on(states, found, self.feedforward_residual, debt)
        return _fed(self.feedforward, states, opened, self.feedforward_residual)


@final
class DecoderBlock(nn.Module):
    """Masked self-attention, attention to the source if there is one, then feed-forward."""

    def __init__(
        self,
        attention: Heads,
        cross: Heads | SeveralHeads | None,
        feedforward: FeedForward,
        residuals: tuple[Residual, Residual, Residual],
    ) -> None:
        super().__init__()
        self.attention, self.feedforward = attention, feedforward
        self.cross = cross if isinstance(cross, Heads) else None
        self.several = cross if isinstance(cross, SeveralHeads) else None
        self.attention_residual, cross_residual, self.feedforward_residual = residuals
        self.cross_residual = None if cross is None else cross_residual

    def forward(self, states: States, mask: Mask, source: Memory | Memories | None) -> States:
        """All positions at once, as in training."""
        return close_last(self.follow(Unclosed(states), mask, source))

    def follow(self, before: Unclosed, mask: Mask, source: Memory | Memories | None) -> Unclosed:
        """The same from where the block before left off to where the next one begins."""
        states, opened = open_next(before, self.attention_residual)
        debt = self.attention_residual.debt(states, self.attention.output)
        found = self.attention.within(opened, mask, late=debt is not None)
        return self._rest(states, found, source, debt)

    def step(
        self, states: States, cache: Memory, source: Memory | Memories | None
    ) -> tuple[States, Memory]:
        """The newest positions alone; what came before lies in the cache."""
        opened = self.attention_residual.open(states)
        cache = self.attention.append(cache, opened)
        found = self.attention(opened, cache)
        return close_last(self._rest(states, found, source)), cache

    def _rest(
        self,
        states: Tensor,
        found: Tensor,
        source: Memory | Memories | None,
        debt: Tensor | None = None,
    ) -> Unclosed:
        residual = self.attention_residual
        if isinstance(source, Memories):
            assert self.several is not None
            assert self.cross_residual is not None
            states, opened = residual.pass_on(states, found, self.cross_residual, debt)
            residual, debt, found = self.cross_residual, None, self.several(opened, source)
        elif self.cross is not None and self.cross_residual is not None and source is not None:
            states, opened = residual.pass_on(states, found, self.cross_residual, debt)
            residual = self.cross_residual
            # Heads that lie in pieces are whole only while they are called.
            apart = is_sharded(self.cross)
            debt = None if apart else residual.debt(states, self.cross.output)
            found = self.cross(opened, source, late=debt is not None)
        states, opened = residual.pass_on(states, found, self.feedforward_residual, debt)
        return _fed(self.feedforward, states, opened, self.feedforward_residual)


def _fed(network: FeedForward, states: Tensor, opened: Tensor, residual: Residual) -> Unclosed:
    debt = residual.debt(states, network.narrow)
    return Unclosed(states, network(opened, late=debt is not None), residual, debt)
