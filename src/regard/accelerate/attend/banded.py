"""A window on a CPU: some neighbouring queries at a time, and only the keys that any of them may see.

Then a window costs n times its width, as it should (L40), for any score and normaliser: each part is an
attention of its own, over a short memory. On a GPU `flex` and `additive` leave out blocks of keys themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.formula import AttendForm, attend_part
from regard.attention.mask import Mask, Moved
from regard.attention.memory import Memory

if TYPE_CHECKING:
    from regard.attention.attention import Attention

FAR = 1 << 40


@final
@dataclass(frozen=True)
class Banded(AttendForm):
    """Parts of at least `least` queries, for fewer cost more calls than keys; cut where `gain` times fewer
    keys are left.
    """

    least: int = 64
    gain: int = 2

    def takes(self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None) -> bool:
        """Whether most keys are out of reach; random weights are left alone: parts would draw others."""
        if mask is None or attention.bias is not None:
            return False
        if query.is_cuda or attention.normaliser.is_random:
            return False
        return self.gain * _reach(mask, self._queries(query, mask)) <= memory.key.shape[2]

    def attend(
        self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
    ) -> Float[Tensor, "b h query value_width"]:
        """Part by part."""
        assert mask is not None
        parts = self._parts(query, memory, mask)
        return torch.cat([attend_part(attention, *part, part[1].mask) for part in parts], 2)

    def _parts(self, query: Tensor, memory: Memory, mask: Mask) -> Iterator[tuple[Tensor, Memory]]:
        """Neighbouring queries and the memory they reach: one key at least, even if the mask forbids it."""
        keys, first = memory.key.shape[2], memory.first
        for part in query.split(self._queries(query, mask), 2):
            last = first + part.shape[2]
            begin, end = mask.span(first, last)
            begin = max(0, min(begin, keys - 1))
            reached = slice(begin, max(begin + 1, min(end, keys)))
            key, value = memory.key[:, :, reached], memory.value[:, :, reached]
            yield part, Memory(key, value, Moved(mask, begin), first)
            first = last

    def _queries(self, query: Tensor, mask: Mask) -> int:
        """Half as many as one of them reaches keys."""
        return min(query.shape[2], max(self.least, _reach(mask, 1) // 2))


def _reach(mask: Mask, queries: int) -> int:
    """How many keys so many neighbours reach, where neither end of the text is near."""
    begin, end = mask.span(FAR, FAR + queries)
    return end - begin
