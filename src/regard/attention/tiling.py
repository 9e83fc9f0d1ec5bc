"""How the work on a packed row is shared out among the programs of a GPU.

A matrix unit takes a tile of 64 places whether or not they are there. So short sequences that lie next to one
another share one, and a long one is several. What lies behind the last sequence is shared out as well: it
must be written, if only with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int, Integer

TILE = 64

Lengths = Integer[np.ndarray, " sequences"]
Shares = Int[np.ndarray, "shares three"]


def shared_out(lengths: Sequence[Lengths], sizes: Sequence[int]) -> list[Shares]:
    """For each side: where every share begins, where it ends, and which of its tiles a program works on.

    Sides (queries and keys) have the same shares, none of which divides a sequence. The longest come first:
    what begins early is not waited for in the end.
    """
    edges = _edges(lengths, sizes)
    ends = [np.searchsorted(edge, edge[:-1] + TILE, side="right") - 1 for edge in edges]
    after = np.maximum(np.min(ends, axis=0), np.arange(1, len(edges[0])))
    first = _firsts(after)
    after = after[first]
    tiles = np.max([-(-(edge[after] - edge[first]) // TILE) for edge in edges], axis=0)
    order = np.argsort(-tiles, kind="stable")
    first, after, tiles = first[order], after[order], tiles[order]
    part = np.arange(tiles.sum()) - np.repeat(tiles.cumsum() - tiles, tiles)
    first, after = first.repeat(tiles), after.repeat(tiles)
    return [np.stack([edge[first], edge[after], part], 1).astype(np.int32) for edge in edges]


def _edges(lengths: Sequence[Lengths], sizes: Sequence[int]) -> list[Int[np.ndarray, " edges"]]:
    """Where sequences begin and end on each side, then tiles of what is left, of which all have as many."""
    left = [size - int(side.sum()) for side, size in zip(lengths, sizes, strict=True)]
    tiles = TILE * np.arange(1, -(-max(left) // TILE) + 1)
    return [
        np.concatenate([[0], side.cumsum(), side.sum() + np.minimum(tiles, rest)])
        for side, rest in zip(lengths, left, strict=True)
    ]


def _firsts(after: Int[np.ndarray, " sequences"]) -> Int[np.ndarray, " shares"]:
    """The first sequence of each share, when a share that begins with s ends before after[s]."""
    steps, found, at = after.tolist(), [], 0
    while at < len(steps):
        found.append(at)
        at = steps[at]
    return np.array(found, np.int64)
