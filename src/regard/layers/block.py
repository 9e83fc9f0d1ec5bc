"""The Transformer's blocks, attention and feed-forward beside residuals (L64, L66), and a stack of them."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, final

from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Heads, Mask, Memory
from regard.layers.connected import Connected
from regard.layers.several import Memories, SeveralHeads
from regard.layers.sublayer import FeedForward, Residual
from regard.seams import Seam

M = TypeVar("M", bound=nn.Module)
States = Float[Tensor, "batch length width"]
Sources = Sequence[Memory | Memories | None]


@final
class Stack(nn.ModuleList, Generic[M]):
    """`nn.ModuleList` that remembers its members' type."""

    def __init__(self, modules: Iterable[M]) -> None:
        super().__init__(list(modules))
        STACK.forms()  # imported now: a compiler would stop where a module is imported

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[M]: ...


class StackForm(ABC):
    """Takes states through a whole stack of blocks, and the norm at its top, otherwise than one by one.

    `side` is the encoder or decoder whose blocks they are; `sources` is what each block of a decoder reads.
    """

    devices: tuple[str, ...] = ()  # where alone it works; none: everywhere

    @abstractmethod
    def takes(self, side: nn.Module, states: States, mask: Mask | None, sources: Sources) -> bool:
        """Whether this stack is known here, and had better be gone through here."""

    @abstractmethod
    def run(self, side: nn.Module, states: States, mask: Mask | None, sources: Sources) -> States:
        """What comes out at the top."""


STACK: Seam[StackForm] = Seam("stack", "stack")


def stack_form(
    side: nn.Module, states: States, mask: Mask | None, sources: Sources = ()
) -> StackForm | None:
    """The first form that takes this stack, if there is one."""
    here = states.device.type
    for form in STACK.forms():
        if here in (form.devices or (here,)) and form.takes(side, states, mask, sources):
            return form
    return None


def is_sharded(module: nn.Module) -> bool:
    """Whether this is an FSDP module, which is whole only while it is called.

    Its weights do not tell: between two calls they may be whole, and out of date.
    """
    # A program that never loaded that large part of torch has none.
    sharding = sys.modules.get("torch.distributed.fsdp")
    return sharding is not None and isinstance(module, sharding.FSDPModule)


@final
class EncoderBlock(nn.Module):
    """Self-attention, then feed-forward: x = x + attention(norm(x)); x = x + feedforward(norm(x)).

    A residual says where its norm stands, before the sub-layer or behind the sum. In the place of attention
    there may be a fully connected layer (L41), and in that of feed-forward nothing at all (L103).
    """

    def __init__(
        self,
        attention: Heads | Connected,
        feedforward: FeedForward | None,
        residuals: tuple[Residual, Residual],
    ) -> None:
        super().__init__()
        self.attention, self.feedforward = attention, feedforward
        self.attention_residual, last = residuals
        self.feedforward_residual = None if feedforward is None else last

    def forward(self, states: States, mask: Mask | None = None) -> States:
        """Each position reads all that the mask allows."""
        states = self.attention_residual(states, lambda x: self.attention.within(x, mask))
        return fed(states, self.feedforward_residual, self.feedforward)


def fed(states: States, residual: Residual | None, network: FeedForward | None) -> States:
    """The states behind the feed-forward network of a block; as they are, where it has none."""
    return states if residual is None or network is None else residual(states, network)


@final
class DecoderBlock(nn.Module):
    """Masked self-attention, attention to the source or to several if there are any, then feed-forward."""

    def __init__(
        self,
        attention: Heads,
        cross: Heads | SeveralHeads | None,
        feedforward: FeedForward | None,
        residuals: tuple[Residual, Residual, Residual],
    ) -> None:
        super().__init__()
        # In this order: a gradient's length is a sum over parameters, and sums know their order.
        self.attention = attention
        self.cross = cross if isinstance(cross, Heads) else None
        self.several = cross if isinstance(cross, SeveralHeads) else None
        self.feedforward = feedforward
        self.attention_residual, cross_residual, last = residuals
        self.feedforward_residual = None if feedforward is None else last
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
        return fed(states, self.feedforward_residual, self.feedforward)
