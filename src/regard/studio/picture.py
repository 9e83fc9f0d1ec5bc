"""Attention as it travels: float32 wherever a number is shown or saved, bytes only for tiles to look at."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, UInt8

TILE = 32


def as_floats(table: np.ndarray) -> bytes:
    """Numbers as they are: float32, little-endian, row by row; -inf where a query could not look."""
    return np.ascontiguousarray(table, "<f4").tobytes()


def tile(weights: Float[np.ndarray, "query key"]) -> UInt8[np.ndarray, "32 32"]:
    """A matrix of any size as 32 x 32 shades, round(sqrt(w) * 255) of the largest weight of each block."""
    if not weights.size:
        return np.zeros((TILE, TILE), np.uint8)
    small = weights
    for axis, size in enumerate(weights.shape):
        # Where two starts are equal, `reduceat` repeats the cell: small matrices grow.
        small = np.maximum.reduceat(small, np.arange(TILE) * size // TILE, axis)
    return np.rint(np.sqrt(np.clip(small, 0.0, 1.0)) * 255).astype(np.uint8)
