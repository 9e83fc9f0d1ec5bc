"""From one raw source to states: a front-end decides how many states there are, and which of them are real.

Sources come as ids (batch, length) or as frames (batch, length, features). A picture is frames, too: one
frame a column, each of rows x channels numbers. So every source is padded on the right, and only there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Padding
from regard.attention.position import sinusoid
from regard.errors import UsageError

Source = Int[Tensor, "batch length"] | Float[Tensor, "batch length features"]


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

    def states_of(self, length: int) -> int:
        """How many states a source of this length becomes."""
        return length


@final
class Patches(FrontEnd):
    """Squares of a picture, each one linear map of its pixels (Dosovitskiy 2021), with 2-D positions.

    Half of a position's vector says the row, half the column.
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
        states = self.project(squares) + self._positions(columns, source)
        if padding is not None:
            lengths = -(-padding.lengths // self.size) * self.num_rows
            padding = Padding(lengths)
        return Embedded(self.dropout(states), padding, self.num_rows)

    def states_of(self, length: int) -> int:
        """The squares of a picture with so many columns of pixels."""
        return -(-length // self.size) * self.num_rows

    def _positions(self, columns: int, like: Tensor) -> Float[Tensor, "states width"]:
        half = self.width // 2
        across = sinusoid(columns, self.width - half, device=like.device)
        down = sinusoid(self.num_rows, half, device=like.device)
        both = (across.repeat_interleave(self.num_rows, 0), down.repeat(columns, 1))
        return torch.cat(both, 1).to(like.dtype)
