"""Frames of a sound, sub-sampled: convolutions over time and frequency leave one state for several frames.

A second of speech has a hundred frames and about three words. Two stages leave a quarter of the frames (Dong
2018), so that attention among them costs a sixteenth.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Added, Padding
from regard.layers.convolution import kept, real_columns
from regard.layers.front_end import Embedded, FrontEnd

Sounds = Float[Tensor, "batch length bands"]


@final
class Subsampling(FrontEnd):
    """One state for 2^stages frames: their feature maps, all bands side by side, through one linear map.

    There is no norm between the stages, which could make silence as loud as speech.

    While learning, up to `mask_bands` neighbouring bands and `mask_frames` neighbouring frames of each sound
    are hidden (Park 2019), so that no band and no moment is relied on alone.
    """

    def __init__(
        self,
        features: int,
        width: int,
        *,
        channels: Sequence[int],
        position: Added | None = None,
        dropout: float = 0.0,
        mask_bands: int = 0,
        mask_frames: int = 0,
    ) -> None:
        super().__init__()
        sizes = [1, *channels]
        self.stages = nn.ModuleList(
            nn.Conv2d(before, after, 3, stride=2, padding=1)
            for before, after in itertools.pairwise(sizes)
        )
        for stage in self.stages:
            nn.init.kaiming_normal_(stage.weight, nonlinearity="relu")  # type: ignore[arg-type]
            nn.init.zeros_(stage.bias)  # type: ignore[arg-type]
        self.widen = nn.Linear(sizes[-1] * self._halved(features), width)
        self.position = position
        self.dropout = nn.Dropout(dropout)
        self.mask_bands, self.mask_frames = mask_bands, mask_frames

    def read(self, source: Sounds, padding: Padding | None) -> Embedded:
        """A state is real when any of its frames is; frames behind the end are 0 before each convolution."""
        if source.shape[1] == 0:  # a convolution refuses to read nothing
            return Embedded(source.new_zeros(len(source), 0, self.widen.out_features), padding)
        lengths = None if padding is None else padding.lengths
        if self.training and (self.mask_bands or self.mask_frames):
            source = hidden_at_random(source, lengths, self.mask_bands, self.mask_frames)
        maps = source.transpose(1, 2).unsqueeze(1)  # bands are rows, frames are columns
        for stage in self.stages:
            lengths = None if lengths is None else (lengths + 1) // 2
            maps = torch.relu(stage(maps))
            maps = kept(maps, real_columns(lengths, maps.shape[-1]))
        states = self.widen(maps.permute(0, 3, 1, 2).flatten(2))
        if self.position is not None:
            states = self.position(states, 0)
        return Embedded(self.dropout(states), None if lengths is None else Padding(lengths))

    def states_of(self, length: int) -> int:
        """A quarter of the frames, after two stages."""
        return self._halved(length)

    def _halved(self, size: int) -> int:
        for _ in self.stages:
            size = (size + 1) // 2
        return size


def hidden_at_random(sounds: Sounds, lengths: Tensor | None, bands: int, frames: int) -> Sounds:
    """Each sound with one stretch of bands and one stretch of its frames set to 0, their mean (Park 2019).

    A stretch of frames is at most a third of the sound, so that something is left of a short one.
    """
    batch, length, count = sounds.shape
    own = torch.full((batch,), length, device=sounds.device) if lengths is None else lengths
    most = torch.minimum(torch.full_like(own, frames), own // 3)
    gone = _stretch(torch.full_like(own, count), torch.full_like(own, min(bands, count)), count)
    still = _stretch(own, most, length)
    return sounds.masked_fill(gone[:, None] | still[:, :, None], 0.0)


def _stretch(sizes: Tensor, most: Tensor, places: int) -> Bool[Tensor, "batch place"]:
    """One stretch of each row, of 0 to `most` places, somewhere within its size."""
    chance = torch.rand(2, len(sizes), device=sizes.device)
    long = (chance[0] * (most + 1)).long()
    first = (chance[1] * (sizes - long + 1)).long()[:, None]
    place = torch.arange(places, device=sizes.device)
    return (place >= first) & (place < first + long[:, None])
