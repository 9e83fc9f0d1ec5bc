"""A shuffle that needs no memory: a keyed bijection on range(count).

The one idea: instead of storing a shuffled list, encrypt the position. A Feistel network over the
next power of two is a bijection for any round function; walking along its cycle until the value
is below `count` again makes it one on `range(count)` (Black and Rogaway 2002). So where a row
goes is a pure function of (seed, epoch, position): the same on any machine, from any position on.
"""

from __future__ import annotations

import hashlib
from typing import TypeAlias, final

import numpy as np
from jaxtyping import Int, UInt64

from regard.errors import UsageError

LARGEST = 2**40
ROUNDS = 8
# Over few values a Feistel network is a poor shuffle; these are sorted by random numbers instead.
FEW = 1024

_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)  # odd, well mixed


def permuted(
    index: Int[np.ndarray, " positions"], count: int, seed: int, epoch: int, stream: int = 0
) -> Int[np.ndarray, " positions"]:
    """The elements of `range(count)` that stand at `index` in the shuffle named by the key.

    `stream` names further independent shuffles of the same epoch.
    """
    if not 1 <= count <= LARGEST:
        raise UsageError(
            f"cannot shuffle {count} things: between 1 and 2^40 can be",
            where="count",
            remedy="give from 1 to 2^40 examples",
        )
    if index.size and not 0 <= int(index.min()) <= int(index.max()) < count:
        raise IndexError(f"a position lies outside range({count})")
    if count <= FEW:
        return _random((seed, epoch, stream), count).argsort(kind="stable")[index]
    keys = _random((seed, epoch, stream), ROUNDS)
    bits = (count - 1).bit_length()
    place = _feistel(index.astype(np.uint64), bits, keys)
    outside = np.flatnonzero(place >= count)
    while outside.size:
        walked = _feistel(place[outside], bits, keys)
        place[outside] = walked
        outside = outside[walked >= count]
    return place.astype(np.int64)


def _random(key: tuple[int, ...], count: int) -> UInt64[np.ndarray, " count"]:
    """The first numbers of the stream that `key` names."""
    digest = hashlib.shake_128(repr(key).encode()).digest(8 * count)
    return np.frombuffer(digest, "<u8").astype(np.uint64)


def _feistel(
    value: UInt64[np.ndarray, " values"], bits: int, keys: UInt64[np.ndarray, " rounds"]
) -> UInt64[np.ndarray, " values"]:
    """Each half in turn is changed by what the other half says, which can always be undone."""
    low_bits = bits // 2
    high_bits = bits - low_bits
    high = value >> np.uint64(low_bits)
    low = value & np.uint64((1 << low_bits) - 1)
    for even, odd in zip(keys[::2], keys[1::2], strict=True):
        high ^= _hash(low, even, high_bits)
        low ^= _hash(high, odd, low_bits)
    high <<= np.uint64(low_bits)
    return high | low


def _hash(
    value: UInt64[np.ndarray, " values"], key: np.uint64, bits: int
) -> UInt64[np.ndarray, " values"]:
    """The top `bits` of a keyed multiplicative hash."""
    mixed = value + key
    mixed *= _FIRST
    mixed ^= mixed >> np.uint64(32)
    mixed *= _SECOND
    mixed >>= np.uint64(64 - bits)
    return mixed


# A short list of padded shapes that wastes little, fitted to the lengths of a corpus.
# The one idea: begin with the one shape that holds every row, and add again and again the shape that saves
# the most padding. Only integers are compared, so every machine finds the same list.

Lengths: TypeAlias = Int[np.ndarray, " corpus"]
Cells: TypeAlias = Int[np.ndarray, " cells"]
Rows: TypeAlias = Int[np.ndarray, " rows"]

CHUNK = 1 << 20
CANDIDATES = 1024
# Below this share of padding, one more shape to compile costs more than it saves.
ENOUGH = 0.04


def rounded_up(length: int, least: int = 1) -> int:
    """The next length on a fixed grid, in steps of a sixteenth of the next power of two."""
    length = max(1, length)
    step = max(least, 1 << max(0, (length - 1).bit_length() - 4))
    return -(-length // step) * step


@final
class Shapes:
    """At most `limit` pairs of padded lengths, small to large, and which pair each row takes.

    `charge` is what one more shape costs, in padded places: it must save more than that.
    """

    def __init__(
        self, source: Lengths, target: Lengths | None, max_length: int, limit: int, charge: int
    ) -> None:
        self._source = _Side(source, len(source), max_length)
        self._target = _Side(target, len(source), max_length)
        counts, real = self._survey()
        at_source, at_target = np.nonzero(counts[:-1, :-1])
        weight = counts[at_source, at_target]
        cells = _Cells(self._source.edges[at_source], self._target.edges[at_target], weight)
        self.pairs, padded = cells.cover(int(real / (1 - ENOUGH)), limit, charge)
        self.skipped = int(counts.sum() - weight.sum())
        self.waste = 1 - real / padded if padded else 0.0
        self._table = self._cheapest()

    def of(self, rows: Rows) -> Rows:
        """The number of the cheapest pair that holds each row, or -1 where a row is too long."""
        return self._table[self._source.slots(rows), self._target.slots(rows)]

    def _survey(self) -> tuple[Int[np.ndarray, "source target"], int]:
        """Rows in each cell of the grid, too long ones in its last line, and tokens of the rest."""
        size = len(self._source.edges) + 1, len(self._target.edges) + 1
        counts, real = np.zeros(size[0] * size[1], np.int64), 0
        for start in range(0, len(self._source.lengths), CHUNK):
            part = slice(start, start + CHUNK)
            source, target = self._source.slots(part), self._target.slots(part)
            counts += np.bincount(source * size[1] + target, minlength=len(counts))
            fits = (source < size[0] - 1) & (target < size[1] - 1)
            for side in (self._source, self._target):
                real += int(side.lengths[part].sum(where=fits, dtype=np.int64))
        return counts.reshape(size), real

    def _cheapest(self) -> Int[np.ndarray, "source target"]:
        table = np.full((len(self._source.edges) + 1, len(self._target.edges) + 1), -1, np.int16)
        for number, (source, target) in reversed(list(enumerate(self.pairs))):
            # Each overwrites the dearer ones that cover the same cells.
            rows = np.searchsorted(self._source.edges, source, side="right")
            table[:rows, : np.searchsorted(self._target.edges, target, side="right")] = number
        return table


@final
class _Side:
    """One side's lengths, and the grid they are rounded up to; a side may be missing."""

    def __init__(self, lengths: Lengths | None, count: int, max_length: int) -> None:
        # A missing side is all zeros, which broadcasting keeps in four bytes.
        self.lengths = np.broadcast_to(np.int32(0), count) if lengths is None else lengths
        grid = [min(rounded_up(length), max_length) for length in range(max_length + 1)]
        self.edges = np.unique(np.array([0] if lengths is None else grid))
        self._slot = np.searchsorted(self.edges, np.arange(max_length + 2))

    def slots(self, which: slice | Rows) -> Rows:
        """Where on the grid each length stands; one past its end where it is too long."""
        return self._slot[np.minimum(self.lengths[which], len(self._slot) - 1)]


@final
class _Cells:
    """The cells of the grid that hold rows: their two lengths, and how many rows."""

    def __init__(self, source: Cells, target: Cells, weight: Cells) -> None:
        self._source, self._target, self._weight = source, target, weight

    def cover(self, enough: int, limit: int, charge: int) -> tuple[list[tuple[int, int]], int]:
        """Pairs that hold every cell, and how many places all rows then take."""
        source, target, weight = self._source, self._target, self._weight
        if not len(weight):
            return [], 0
        corner = int(source.max()), int(target.max())
        heaviest = np.argsort(-weight * (source + target), kind="stable")[:CANDIDATES]
        covers = (source[heaviest, None] >= source) & (target[heaviest, None] >= target)
        price = np.where(covers, (source + target)[heaviest, None], sum(corner))
        paid = np.full(len(weight), sum(corner))
        pairs, padded = [corner], int(paid @ weight)
        while len(pairs) < limit and padded > enough:
            totals = np.minimum(price, paid) @ weight
            best = int(totals.argmin())
            if padded - int(totals[best]) <= charge:
                break
            pairs.append((int(source[heaviest[best]]), int(target[heaviest[best]])))
            paid, padded = np.minimum(paid, price[best]), int(totals[best])
        return sorted(pairs, key=lambda pair: (sum(pair), pair)), padded
