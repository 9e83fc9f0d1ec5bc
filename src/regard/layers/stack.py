"""A list of modules of one type, and whether a module is sharded over several machines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar, cast, final

from torch import nn

M = TypeVar("M", bound=nn.Module)


@final
class Stack(nn.ModuleList, Generic[M]):
    """`nn.ModuleList` that remembers its members' type."""

    def __init__(self, modules: Iterable[M]) -> None:
        super().__init__(list(modules))

    def __iter__(self) -> Iterator[M]:
        return cast("Iterator[M]", super().__iter__())


def is_sharded(module: nn.Module) -> bool:
    """Whether this is an FSDP module, which is whole only while it is called.

    Its weights do not tell: between two calls they may be whole, and out of date.
    """
    # Who never loaded that large part of torch has none.
    sharding = sys.modules.get("torch.distributed.fsdp")
    return sharding is not None and isinstance(module, sharding.FSDPModule)
