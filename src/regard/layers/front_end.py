"""From one raw source to states: a front-end decides how many states there are, and which of them are real.

Sources come as ids (batch, length) or as frames (batch, length, features), floats or bytes. A picture is
frames, too: one frame a column, each of rows x channels numbers. So every source is padded on the right, and
only there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor, nn

from regard.attention import Added, Padding, Segments
from regard.attention.position import sinusoid
from regard.errors import UsageError
from regard.layers.sublayer import LayerNorm

Source = (
    Int[Tensor, "batch length"]
    | Float[Tensor, "batch length features"]
    | UInt8[Tensor, "batch length features"]
)


@final
@dataclass(frozen=True, eq=False)
class Embedded:
    """States before any layer has mixed them, and which of them are real.

    States of a picture lie in a grid, column after column, with `rows` states a column.
    """

    states: Float[Tensor, "batch states width"]
    padding: Padding | None = None
    rows: int = 1


class FrontEnd(nn.Module, ABC):
    """Turns one source into states of the encoder's width."""

    @abstractmethod
    def read(self, source: Source, padding: Padding | None) -> Embedded:
        """The states of a batch of sources; void places of the source hold zeros."""

    @property
    def states_a_column(self) -> int:
        """How many states lie above each other, where they lie in a grid."""
        return 1

    @property
    def side(self) -> int:
        """How many places of the source a state stands for, in each direction."""
        return 1

    def states_of(self, length: int) -> int:
        """How many states a source of this length becomes."""
        return length


@final
class Patches(FrontEnd):
    """Squares of a picture, each one linear map of its pixels (Dosovitskiy 2021), with 2-D positions.

    Squares of one pixel are the cells of features that another network made.
    """

    def __init__(
        self, rows: int, features: int, width: int, *, size: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if features % rows or rows % size:
            raise UsageError(
                f"a picture of {rows} rows and {features} numbers a column has no squares of {size}",
                where="model.encoder.front.size",
                remedy="choose a size that divides the picture's rows",
            )
        self.size, self.width = size, width
        self.num_rows, self.channels = rows // size, features // rows
        self.project = nn.Linear(size * size * self.channels, width)
        self.dropout = nn.Dropout(dropout)

    def read(
        self, source: Float[Tensor, "batch length features"], padding: Padding | None
    ) -> Embedded:
        """One state a square, column after column; a square is real when any of its columns is."""
        columns = self.states_of(source.shape[1]) // self.num_rows
        missing = columns * self.size - source.shape[1]
        source = nn.functional.pad(source, (0, 0, 0, missing))
        # (batch, columns x size, rows x size, channels): squares side by side, pixels inside them
        pixels = source.unflatten(1, (columns, self.size))
        pixels = pixels.unflatten(-1, (self.num_rows, self.size * self.channels))
        squares = pixels.transpose(2, 3).flatten(1, 2).flatten(2)
        states = self.project(squares)
        states = states + grid_positions(columns, self.num_rows, self.width, states)
        if padding is not None:
            lengths = -(-padding.lengths // self.size) * self.num_rows
            padding = Padding(lengths)
        return Embedded(self.dropout(states), padding, self.num_rows)

    @property
    def states_a_column(self) -> int:
        """The rows of squares."""
        return self.num_rows

    @property
    def side(self) -> int:
        """Pixels a side."""
        return self.size

    def states_of(self, length: int) -> int:
        """The squares of a picture with so many columns of pixels."""
        return -(-length // self.size) * self.num_rows


def grid_positions(
    columns: int, rows: int, width: int, like: Tensor
) -> Float[Tensor, "states width"]:
    """2-D positions of a grid, column after column: half of the vector says the row, half the column."""
    half = width // 2
    across = sinusoid(columns, width - half, device=like.device)
    down = sinusoid(rows, half, device=like.device)
    both = (across.repeat_interleave(rows, 0), down.repeat(columns, 1))
    return torch.cat(both, 1).to(like.dtype)


# The two plain front-ends: a learned vector an id, and a linear map of each frame.


@final
class Embedding(FrontEnd):
    """One learned vector an id, its position added (L2, L48).

    With `scale`, vectors are multiplied by sqrt(width), so that positions do not drown them (Vaswani 2017).
    Ids behind the vocabulary, which words have that can only be copied, are read as the id `unknown`.
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
        unknown: int | None = None,
    ) -> None:
        super().__init__()
        self.unknown = unknown
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
        if self.unknown is not None:
            ids = ids.masked_fill(ids >= self.table.num_embeddings, self.unknown)
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
