"""Attention as bytes: square roots, so that small weights keep their differences, a byte a cell.

The error of a weight is below 2/255 of its square root: nothing that an eye sees, and a quarter of the size.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, UInt8

TILE = 32


def as_bytes(weights: np.ndarray) -> np.ndarray:
    """round(sqrt(w) * 255), row by row."""
    return np.rint(np.sqrt(np.clip(weights, 0.0, 1.0)) * 255).astype(np.uint8)


def tile(weights: Float[np.ndarray, "query key"]) -> UInt8[np.ndarray, "32 32"]:
    """A matrix of any size as 32 x 32: of cells that fall together the largest, so that no peak is lost."""
    if not weights.size:
        return np.zeros((TILE, TILE), np.uint8)
    small = weights
    for axis, size in enumerate(weights.shape):
        # Where two starts are equal, `reduceat` repeats the cell: small matrices grow.
        small = np.maximum.reduceat(small, np.arange(TILE) * size // TILE, axis)
    return as_bytes(small)  # the root of the largest is the largest root


def as_floats(scores: Float[np.ndarray, "query key"]) -> bytes:
    """Scores as they are: float32, little-endian, -inf where a query could not look."""
    return np.ascontiguousarray(scores, "<f4").tobytes()
