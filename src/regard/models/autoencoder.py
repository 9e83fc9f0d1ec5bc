"""What makes giving back the input hard: noise on what is read, and a narrow state in between.

An autoencoder learns to say what it has read (L16). A decoder with attention would only have to copy; without
attention all must pass through the last state of the encoder, and a bottleneck makes that as narrow as one
likes (L97). A denoising autoencoder reads a corrupted text and says the whole one (Vincent 2008; Hill 2016).
"""

from __future__ import annotations

from dataclasses import replace
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.models.encoder import Encoded
from regard.settings.architecture import NoiseSettings


@final
class Bottleneck(nn.Module):
    """z = tanh(W_1 h + b_1), h' = W_2 z + b_2: all that a decoder without attention knows of the source."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.narrow, self.widen = nn.Linear(width, size), nn.Linear(size, width)

    def code(self, encoded: Encoded) -> Float[Tensor, "batch size"]:
        """The narrow state itself."""
        return torch.tanh(self.narrow(encoded.summaries(1)[0]))

    def forward(self, encoded: Encoded) -> Encoded:
        """The same source, of which every layer of the decoder learns the narrow state alone."""
        return replace(encoded, layers=(self.widen(self.code(encoded)),))


def corrupted(
    source: Int[Tensor, "batch length"],
    lengths: Int[Tensor, " batch"] | None,
    noise: NoiseSettings,
    hidden: int,
) -> tuple[Int[Tensor, "batch length"], Int[Tensor, " batch"]]:
    """Pieces hidden, left out and moved by chance; the last one of each row, its end sign, stays.

    A piece is moved by at most `noise.shuffle` positions: the rows are sorted by i + u_i, where u_i is drawn
    from 0 to shuffle + 1 (Lample 2018). Where all pieces of a row would be left out, its first stays.
    """
    places = torch.arange(source.shape[1], device=source.device).expand_as(source)
    if lengths is None:
        lengths = torch.full((len(source),), source.shape[1], device=source.device)
    lengths = lengths.to(source.device)
    inner = places < lengths.unsqueeze(1) - 1
    lots = torch.rand((3, *source.shape), device=source.device)
    source = source.masked_fill(inner & (lots[0] < noise.mask), hidden)
    gone = inner & (lots[1] < noise.drop)
    gone = gone & ~((gone | ~inner).all(1, keepdim=True) & (places == 0))
    # Inner pieces first, in their new order; then the end sign; what is left out lies behind it, as padding.
    key = places + torch.where(inner, lots[2] * (noise.shuffle + 1), float(source.shape[1]))
    key = key + gone * (3.0 * source.shape[1])
    return source.gather(1, key.argsort(dim=1, stable=True)), lengths - gone.sum(1)
