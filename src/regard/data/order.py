"""A shuffle that needs no memory: a keyed bijection on range(count).

The one idea: instead of storing a shuffled list, encrypt the position. A Feistel network over the
next power of two is a bijection for any round function; walking along its cycle until the value
is below `count` again makes it one on `range(count)` (Black and Rogaway 2002). So where a row
goes is a pure function of (seed, epoch, position): the same on any machine, from any position on.
"""

from __future__ import annotations

import hashlib

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
