"""What an ear-like filter bank hears: the logarithm of the energy in each of some bands, many times a second.

E[t, b] = sum_f filter_b(f) |FFT(window * samples of frame t)(f)|^2, and the feature is ln E. Bands are
triangles, evenly spaced on the mel scale m(f) = 2595 log10(1 + f / 700), as wide as two of their distances.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import UsageError

LEAST = 1e-10  # energy below which nothing is told apart
RANGE = 8 * math.log(10)  # how far below the loudest a band can be: 80 decibels


def log_mel(
    samples: Float[Tensor, " sample"], rate: int, *, bands: int, window: int, hop: int
) -> Float[Tensor, "frame band"]:
    """ln E of every frame; `window` and `hop` are in samples. The last frame is filled up with silence."""
    frames = 1 + max(0, -(-(len(samples) - window) // hop))
    samples = torch.nn.functional.pad(samples, (0, (frames - 1) * hop + window - len(samples)))
    shape = torch.hann_window(window, dtype=samples.dtype)
    spectrum = torch.fft.rfft(samples.unfold(0, window, hop) * shape, size_of(window))
    energy = spectrum.abs().square() @ filters(bands, window, rate).to(samples.dtype)
    return energy.clamp(min=LEAST).log()


def levelled(energies: Float[Tensor, "frame band"]) -> Float[Tensor, "frame band"]:
    """The same without what the microphone and the loudness add: bands about 0, a deviation of 1 in all.

    What is 80 decibels below the loudest is silence. Only the sound itself is looked at, never a neighbour.
    """
    heard = energies.clamp(min=float(energies.max()) - RANGE)
    centred = heard - heard.mean(0)
    return centred / centred.square().mean().sqrt().clamp(min=1e-3)


def size_of(window: int) -> int:
    """Of the Fourier transform: twice the next power of 2, so that narrow bands have frequencies in them."""
    return 2 << (window - 1).bit_length()


@lru_cache(maxsize=8)
def filters(bands: int, window: int, rate: int) -> Float[Tensor, "frequency band"]:
    """How much of each frequency every band hears: 1 at its middle, 0 beyond its neighbours' middles."""
    heard = np.arange(size_of(window) // 2 + 1) * rate / size_of(window)
    edges = hertz(np.linspace(0.0, mel(rate / 2), bands + 2))
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    rising = (heard[:, None] - low) / (middle - low)
    falling = (high - heard[:, None]) / (high - middle)
    filters = np.maximum(0.0, np.minimum(rising, falling))
    if not filters.any(0).all():
        raise UsageError(
            f"{bands} bands are too many for {rate:,} samples a second: some would hear nothing",
            where="sound.bands",
            remedy=f"choose fewer, such as {bands // 2}, or a longer window",
        )
    return torch.from_numpy(filters)


def mel(frequency: float) -> float:
    """Hertz to mel."""
    return 2595 * math.log10(1 + frequency / 700)


def hertz(mels: Float[np.ndarray, " number"]) -> Float[np.ndarray, " number"]:
    """Mel to hertz."""
    return 700 * (10 ** (mels / 2595) - 1)
