"""How a packed row is tiled for the programs of a GPU.

A matrix unit takes a tile of 64 places whether or not they are there. So short sequences that lie next to one
another share a tile, and a long one has several. What lies behind the last sequence has tiles as well: it
must be written, if only with zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int, Integer

TILE = 64

Lengths = Integer[np.ndarray, " sequences"]
Tiles = Int[np.ndarray, "tiles three"]


def tiled(lengths: Sequence[Lengths], sizes: Sequence[int]) -> list[Tiles]:
    """For each side, one line a program: where its group of sequences begins and ends, and its tile of that.

    Both sides (queries and keys) have the same groups, none of which divides a sequence. The longest come
    first: nobody then waits for them in the end.
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


def _firsts(after: Int[np.ndarray, " sequences"]) -> Int[np.ndarray, " groups"]:
    """The first sequence of each group, when a group that begins with s ends before after[s]."""
    ends, firsts, at = after.tolist(), [], 0
    while at < len(ends):
        firsts.append(at)
        at = ends[at]
    return np.array(firsts, np.int64)
