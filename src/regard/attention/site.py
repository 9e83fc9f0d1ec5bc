"""What an attention is, declared where the model is built: nobody has to guess it from a module's path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

Role = Literal["self", "cross", "pool", "pointer", "choice"]

INPUTS = "inputs"  # what a decoder reads: the begin symbol, then what it has said
TARGET = "target"  # what each step says
LABEL = "label"  # the one answer about a whole source
PLACES = "places"  # what a pointer chooses from: the stop sign, then the items of the source
SOURCES = "sources"  # the sources themselves, where an attention weighs them


@final
@dataclass(frozen=True)
class Site:
    """The part an attention plays, and the axes that its queries and keys lie on.

    self    a sequence reads itself                cross    a decoder reads a source
    pool    one query reads a whole source         pointer  the weights themselves are the answer
    choice  each query weighs whole sources

    An axis is the name of a source, or one of the constants of this file. Keys of several sources that share
    one softmax lie on all their axes, one behind the other.
    """

    role: Role
    queries: str
    keys: str | tuple[str, ...]
    layer: int = 0

    @property
    def key_axes(self) -> tuple[str, ...]:
        """The axes of the keys, nearly always one."""
        return (self.keys,) if isinstance(self.keys, str) else self.keys
