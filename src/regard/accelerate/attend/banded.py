"""A window on a CPU: some neighbouring queries at a time, and only the keys that any of them may see.

Then a window costs n times its width, as it should (L40), for any score and normaliser: each part is an
attention of its own, over a short memory. On a GPU `flex` and `additive` leave out blocks of keys themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torch import Tensor

from regard.attention.mask import Mask, Moved
from regard.attention.memory import Memory

if TYPE_CHECKING:
    from regard.attention.attention import Attention

LEAST = 64  # queries a part: for fewer the calls cost more than the keys
GAIN = 2  # from so many times fewer keys on it pays to cut
FAR = 1 << 40


def takes(attention: Attention, query: Tensor, memory: Memory, mask: Mask) -> bool:
    """Whether most keys are out of reach; chance is left alone, since it would fall otherwise in parts."""
    if query.is_cuda or attention.normaliser.is_random:
        return False
    return GAIN * _reach(mask, _queries(query, mask)) <= memory.key.shape[2]


def parts(query: Tensor, memory: Memory, mask: Mask) -> Iterator[tuple[Tensor, Memory]]:
    """Neighbouring queries, and the memory that they reach: one key at least, even if the mask forbids it."""
    keys, first = memory.key.shape[2], memory.first
    for part in query.split(_queries(query, mask), 2):
        last = first + part.shape[2]
        begin, end = mask.span(first, last)
        begin = max(0, min(begin, keys - 1))
        reached = slice(begin, max(begin + 1, min(end, keys)))
        key, value = memory.key[:, :, reached], memory.value[:, :, reached]
        yield part, Memory(key, value, Moved(mask, begin), first)
        first = last


def _queries(query: Tensor, mask: Mask) -> int:
    """Half as many as one of them reaches keys."""
    return min(query.shape[2], max(LEAST, _reach(mask, 1) // 2))


def _reach(mask: Mask, queries: int) -> int:
    """How many keys so many neighbours reach, where neither end of the text is near."""
    begin, end = mask.span(FAR, FAR + queries)
    return end - begin
