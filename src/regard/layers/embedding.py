"""The two plain front-ends: a learned vector an id, and a linear map of each frame."""

from __future__ import annotations

import math
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Added, Padding, Segments
from regard.layers.front_end import Embedded, FrontEnd
from regard.layers.norm import LayerNorm


@final
class Embedding(FrontEnd):
    """One learned vector an id, its position added (L2, L48).

    With `scale`, vectors are multiplied by sqrt(width), so that positions do not drown them (Vaswani 2017).
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        *,
        position: Added | None = None,
        scale: bool = True,
        norm_eps: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.table.weight, std=width**-0.5)
        self.scale = math.sqrt(width) if scale else 1.0
        self.position = position
        self.norm = None if norm_eps is None else LayerNorm(width, eps=norm_eps)
        self.dropout = nn.Dropout(dropout)

    def read(self, source: Int[Tensor, "batch length"], padding: Padding | None) -> Embedded:
        """One state an id."""
        return Embedded(self(source), padding)

    def forward(
        self, ids: Int[Tensor, "batch length"], first: int = 0, segments: Segments | None = None
    ) -> Float[Tensor, "batch length width"]:
        """The states of ids at positions first, first + 1, .., which begin anew with each segment."""
        states = self.table(ids) * self.scale
        if self.position is not None and segments is not None:
            table = self.position.table(segments.longest)
            states = states + table[segments.positions].to(states.dtype)
        elif self.position is not None:
            states = self.position(states, first)
        if self.norm is not None:
            states = self.norm(states)
        return self.dropout(states)


def narrowed(states: Tensor) -> Tensor:
    """Under autocast, states in its type: what every layer reads and adds to is then half as large."""
    kind = states.device.type
    return states.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else states


@final
class Frames(FrontEnd):
    """A linear map for inputs that are vectors already: points, speech frames, image patches."""

    def __init__(
        self, features: int, width: int, *, position: Added | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.widen = nn.Linear(features, width)
        self.position = position
        self.dropout = nn.Dropout(dropout)

    def read(
        self, source: Float[Tensor, "batch length features"], padding: Padding | None
    ) -> Embedded:
        """One state a frame."""
        return Embedded(self(source), padding)

    def forward(
        self, frames: Float[Tensor, "batch length features"], first: int = 0
    ) -> Float[Tensor, "batch length width"]:
        """The states of frames at positions first, first + 1, .."""
        states = self.widen(frames)
        if self.position is not None:
            states = self.position(states, first)
        return self.dropout(states)
