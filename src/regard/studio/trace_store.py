"""Traces that were made for the page, kept while it looks at them: a bounded shelf, the oldest goes first."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Literal, final

import numpy as np
from jaxtyping import Float, UInt8

from regard.studio.refusal import Refusal
from regard.studio.settings import Limits

if TYPE_CHECKING:
    from regard.traces.site import TracedSite
    from regard.traces.trace import Trace


@final
class TraceStore:
    """Traces by an id that nobody can guess."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._kept: OrderedDict[str, tuple[Trace, int]] = OrderedDict()
        self._guard = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, trace: Trace) -> str:
        """Keep one more, and let go of the oldest where it gets too much."""
        name = secrets.token_hex(8)
        with self._guard:
            self._kept[name] = (trace, size_of(trace))
            while len(self._kept) > 1 and self._is_full():
                self._kept.popitem(last=False)
        return name

    def get(self, name: str) -> Trace:
        """The trace of this id, now the one used last."""
        with self._guard:
            if name not in self._kept:
                raise Refusal(
                    404, "there is no such trace", "id", "ask for it again: POST /api/trace"
                )
            self._kept.move_to_end(name)
            return self._kept[name][0]

    def _is_full(self) -> bool:
        size = sum(size for _, size in self._kept.values())
        return len(self._kept) > self._limits.traces or size > self._limits.trace_bytes


def size_of(trace: Trace) -> int:
    """Bytes of all its numbers."""
    return sum(array.nbytes for site in trace.sites for array in site.arrays().values())


def site_of(trace: Trace, number: int) -> TracedSite:
    """A site by its place in the list."""
    if not 0 <= number < len(trace.sites):
        raise Refusal(404, f"this trace has {len(trace.sites)} sites", "site", "count from 0")
    return trace.sites[number]


def head_of(weights: np.ndarray, head: str) -> np.ndarray:
    """One head of (heads, query, key) by its number, or the mean: of some, `0+2`, or of all, `mean`."""
    if head == "mean":
        return weights.mean(0, dtype=np.float32)
    chosen = [number_of(one, len(weights)) for one in head.split("+", len(weights) - 1)]
    return weights[chosen[0]] if len(chosen) == 1 else weights[chosen].mean(0, dtype=np.float32)


def number_of(head: str, heads: int) -> int:
    """The number of a head that exists."""
    if not (head.isascii() and head.isdecimal() and len(head) < 6 and int(head) < heads):
        raise Refusal(404, f"this site has {heads} heads", "head", "count from 0, or ask for mean")
    return int(head)


# Attention as it travels: float32 wherever a number is shown or saved, bytes only for tiles to look at.

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


# The kinds of file that a trace can be taken away as.

Kind = Literal["json", "npz", "html", "svg", "csv"]
KINDS: dict[Kind, str] = {
    "json": "application/json",
    "npz": "application/octet-stream",
    "html": "text/html; charset=utf-8",
    "svg": "image/svg+xml",
    "csv": "text/csv; charset=utf-8",
}
