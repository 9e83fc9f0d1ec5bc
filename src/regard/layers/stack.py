"""A list of modules of one type, so that a type checker knows what comes out of it."""

from __future__ import annotations

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
