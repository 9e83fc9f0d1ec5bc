"""A small convolutional network that turns a picture into a grid of states, each about one region of it.

Every stage halves the height and the width. What lies beyond the end of a picture is 0 before each
convolution, and norms are over channels alone, so a picture's states depend on no neighbour and no padding.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Padding
from regard.errors import UsageError
from regard.layers.front_end import Embedded, FrontEnd, grid_positions

Maps = Float[Tensor, "batch channels rows columns"]
Halved = Float[Tensor, "batch more_channels half_rows half_columns"]
Real = Bool[Tensor, "batch 1 1 columns"] | None  # which columns are the picture's own


@final
class ChannelNorm(nn.Module):
    """(x - mu) / sqrt(sigma^2 + eps) * gamma + beta over the channels of each place (as in Liu 2022)."""

    def __init__(self, channels: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.bias = (
            nn.Parameter(torch.ones(channels)),
            nn.Parameter(torch.zeros(channels)),
        )
        self.eps = eps

    def forward(self, maps: Maps) -> Maps:
        """In the type of the maps: under autocast a norm in float32 would double what is kept."""
        last = maps.permute(0, 2, 3, 1)
        with torch.autocast(maps.device.type, enabled=False):
            gain, shift = self.weight.to(maps.dtype), self.bias.to(maps.dtype)
            normed = F.layer_norm(last, last.shape[-1:], gain, shift, self.eps)
        return normed.permute(0, 3, 1, 2)


@final
class ResidualBlock(nn.Module):
    """x + conv(relu(norm(conv(relu(norm(x)))))) (He 2016)."""

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.norms = nn.ModuleList(ChannelNorm(channels) for _ in range(2))
        self.convolutions = nn.ModuleList(
            nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, maps: Maps, real: Real) -> Maps:
        """The picture's own columns; the others are 0 before each convolution, and after it void."""
        change = maps
        for norm, convolution in zip(self.norms, self.convolutions, strict=True):
            change = convolution(kept(torch.relu(norm(change)), real))
        return maps + self.dropout(change)


@final
class Stage(nn.Module):
    """Half the height and width by a convolution with stride 2, then blocks at that size.

    The centre of its kernel is on the first of each two pixels, or, with `late`, on the second. The last
    stage alone is late: then what a state sees lies around its own square, and not around a corner of it.
    """

    def __init__(
        self, before: int, channels: int, blocks: int, dropout: float, *, late: bool = False
    ) -> None:
        super().__init__()
        self.halve = nn.Conv2d(before, channels, 3, stride=2)
        # Left, right, top and bottom: so many that every pixel has a place, and an odd last one, too.
        self.around = (0, 2, 0, 2) if late else (1, 1, 1, 1)
        self.blocks = nn.ModuleList(ResidualBlock(channels, dropout) for _ in range(blocks))
        self.norm = ChannelNorm(channels)

    def forward(self, maps: Maps, lengths: Tensor | None) -> tuple[Halved, Tensor | None]:
        """The maps at half the size, 0 in void columns, and how many columns are real."""
        maps = self.halve(F.pad(maps, self.around))
        lengths = None if lengths is None else (lengths + 1) // 2
        real = real_columns(lengths, maps.shape[-1])
        for block in self.blocks:
            maps = block(maps, real)
        return kept(torch.relu(self.norm(maps)), real), lengths


@final
class Convolution(FrontEnd):
    """One state a region: a square of 2^stages pixels and its surroundings (Xu 2015: annotation vectors).

    Without blocks a state sees 2^(stages + 1) - 1 pixels across, its own square in their middle, so that a
    map of attention means the place it shows. While learning, `warp` distorts each picture a little as a
    whole, `elastic` each part of it for itself, and `mirror` turns half of them around.
    """

    def __init__(
        self,
        rows: int,
        features: int,
        width: int,
        *,
        channels: Sequence[int],
        blocks: int = 0,
        dropout: float = 0.0,
        warp: float = 0.0,
        elastic: float = 0.0,
        mirror: bool = False,
    ) -> None:
        super().__init__()
        if features % rows:
            raise UsageError(
                f"a picture of {rows} rows cannot have {features} numbers a column",
                where="model.encoder.front",
                remedy="give columns of rows x channels numbers, as pictures have",
            )
        self.num_rows, self.channels, self.width = rows, features // rows, width
        sizes = [self.channels, *channels]
        self.stages = nn.ModuleList(
            Stage(
                before, after, blocks, dropout if number else 0.0, late=number == len(channels) - 1
            )
            for number, (before, after) in enumerate(itertools.pairwise(sizes))
        )
        self.widen = nn.Linear(sizes[-1], width)
        self.dropout = nn.Dropout(dropout)
        self.warp, self.elastic, self.mirror = warp, elastic, mirror

    def read(
        self, source: Float[Tensor, "batch length features"], padding: Padding | None
    ) -> Embedded:
        """The grid, column after column; a region is real when any of its columns is."""
        lengths = None if padding is None else padding.lengths
        maps = source.unflatten(-1, (self.num_rows, self.channels)).permute(0, 3, 2, 1)
        maps = maps.contiguous(memory_format=torch.channels_last)
        if self.training and (self.warp or self.elastic or self.mirror):
            maps = warped(maps, lengths, self.warp, self.mirror, self.elastic)
        for stage in self.stages:
            maps, lengths = stage(maps, lengths)
        rows, columns = maps.shape[-2:]
        states = self.widen(maps.permute(0, 3, 2, 1).flatten(1, 2))
        states = states + grid_positions(columns, rows, self.width, states)
        below = None if lengths is None else Padding(lengths * rows)
        return Embedded(self.dropout(states), below, rows)

    @property
    def states_a_column(self) -> int:
        """The rows of regions."""
        return self._halved(self.num_rows)

    @property
    def side(self) -> int:
        """Pixels of its own that a state has a side: each stage doubles them."""
        return 2 ** len(self.stages)

    def states_of(self, length: int) -> int:
        """The regions of a picture with so many columns of pixels."""
        return self._halved(length) * self.states_a_column

    def _halved(self, size: int) -> int:
        for _ in self.stages:
            size = (size + 1) // 2
        return size


def real_columns(lengths: Tensor | None, columns: int) -> Real:
    """Which columns of each picture are its own; None when all are."""
    if lengths is None:
        return None
    places = torch.arange(columns, device=lengths.device)
    return (places < lengths[:, None])[:, None, None]


def kept(maps: Maps, real: Real) -> Maps:
    """The same with 0 in void columns."""
    return maps if real is None else maps.masked_fill(~real, 0.0)


def warped(
    maps: Maps, lengths: Tensor | None, warp: float, mirror: bool, elastic: float = 0.0
) -> Maps:
    """Each picture drawn anew after a random map of the plane: turned, sheared, stretched and moved a little.

    A `warp` of 0.1 stretches by up to 10%, moves by up to 5% of the height, and turns by up to 6 degrees.
    An `elastic` of 0.02 moves each part of it, large as a symbol, by about 2% of the height (Simard 2003).
    """
    batch, (rows, columns) = len(maps), maps.shape[-2:]
    draw = torch.rand(batch, 7, device=maps.device) * 2 - 1
    stretch = torch.exp(draw[:, :2] * warp)
    turn, shear = draw[:, 2] * warp, draw[:, 3] * warp
    sign = torch.where(draw[:, 6] < 0, -1.0, 1.0) if mirror else torch.ones_like(turn)
    # Where each pixel of the new picture comes from, in pixels from the picture's own centre.
    across, down = stretch[:, 0] * sign, stretch[:, 1]
    own = torch.full((batch,), columns, device=maps.device) if lengths is None else lengths
    middle = own.to(torch.float32) / 2
    moved = draw[:, 4:6] * warp * rows / 2
    x = torch.arange(columns, device=maps.device) + 0.5 - middle[:, None, None]
    y = (torch.arange(rows, device=maps.device) + 0.5 - rows / 2)[None, :, None]
    wide, high, tilt, lean = (one[:, None, None] for one in (across, down, turn, shear))
    from_x = wide * x + (lean - tilt) * y + moved[:, 0, None, None] + middle[:, None, None]
    # A long formula that were turned as a whole would leave its picture, so only its baseline sways.
    from_y = high * y + tilt * x * (rows / (rows + 2 * middle[:, None, None])) + rows / 2
    from_y = from_y + moved[:, 1, None, None]
    if elastic:
        aside = displaced(maps, elastic * rows)
        from_x, from_y = from_x + aside[:, 0], from_y + aside[:, 1]
    grid = torch.stack((from_x / columns * 2 - 1, from_y / rows * 2 - 1), -1)
    drawn = F.grid_sample(maps.float(), grid, padding_mode="zeros", align_corners=False)
    drawn = drawn.to(maps.dtype).contiguous(memory_format=torch.channels_last)
    return kept(drawn, real_columns(lengths, columns))


def displaced(maps: Maps, pixels: float) -> Float[Tensor, "batch 2 rows columns"]:
    """How far aside each pixel comes from: drawn for points a quarter of the height apart, smooth between."""
    batch, (rows, columns) = len(maps), maps.shape[-2:]
    across = -(-4 * columns // rows) + 1
    coarse = torch.randn(batch, 2, 5, across, device=maps.device) * pixels
    return F.interpolate(coarse, (rows, columns), mode="bicubic", align_corners=True)
