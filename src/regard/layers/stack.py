"""Blocks one above the other, and who may stand in for going through them one by one."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar, cast, final

from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Mask, Memory
from regard.layers.several import Memories
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

    def __iter__(self) -> Iterator[M]:
        return cast("Iterator[M]", super().__iter__())


class StackForm(ABC):
    """Takes states through a whole stack of blocks, and the norm at its top, otherwise than one by one.

    `side` is the encoder or decoder whose blocks they are; `sources` is what each block of a decoder reads.
    """

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
    for form in STACK.forms():
        if form.takes(side, states, mask, sources):
            return form
    return None


def is_sharded(module: nn.Module) -> bool:
    """Whether this is an FSDP module, which is whole only while it is called.

    Its weights do not tell: between two calls they may be whole, and out of date.
    """
    # A program that never loaded that large part of torch has none.
    sharding = sys.modules.get("torch.distributed.fsdp")
    return sharding is not None and isinstance(module, sharding.FSDPModule)
