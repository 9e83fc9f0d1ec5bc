"""The formula for some queries at a time, worked out again in the backward pass.

Rows of weights know nothing of each other, so this is the formula for any score, normaliser and mask, in
memory that grows as the length: (query, key, neuron) is never whole, and what is worked out at once
stays in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from regard.attention import formula
from regard.attention.formula import AttendForm
from regard.attention.mask import Mask
from regard.attention.memory import Memory
from regard.attention.score import Additive

if TYPE_CHECKING:
    from regard.attention.attention import Attention


@final
@dataclass(frozen=True)
class Blocked(AttendForm):
    """Sizes are (query, key, neuron) triples: `at_once` in a block, and whole up to `least`.

    More at once would leave the processor's cache, fewer would be all overhead; a GPU has no such cache. Up
    to `least` they are better formed whole, since the backward pass need not work them out again.
    """

    at_once: int = 1 << 20
    least: int = 1 << 24
    gpu_at_once: int = 1 << 27
    gpu_least: int = 1 << 28

    def takes(
        self,
        attention: Attention,
        query: Tensor,
        memory: Memory,
        mask: Mask | None,  # noqa: ARG002
    ) -> bool:
        """Whether the triples are so many that forming them at once would be felt."""
        if not isinstance(attention.score, Additive):
            return False
        least = self.gpu_least if query.is_cuda else self.least
        if not (query.is_cuda or torch.is_grad_enabled()):
            least = self.at_once  # there is no backward pass
        triples = query.shape[:3].numel() * memory.key.shape[2:].numel()
        return triples > least and query.shape[2] > 1

    def attend(
        self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
    ) -> Float[Tensor, "b h query value_width"]:
        """The formula, a block of queries at a time."""

        def read(part: Tensor, start: int, memory: Memory) -> Tensor:
            placed = replace(memory, first=memory.first + start)
            return formula.context(attention, part, placed, mask)

        contexts, start = [], 0
        for part in query.split(self._step(query, memory), dim=2):
            if torch.is_grad_enabled():
                contexts.append(checkpoint(read, part, start, memory, use_reentrant=False))
            else:
                contexts.append(read(part, start, memory))
            start += part.shape[2]
        return torch.cat(contexts, 2)

    def _step(self, query: Tensor, memory: Memory) -> int:
        """Queries a block."""
        at_once = self.gpu_at_once if query.is_cuda else self.at_once
        return max(1, at_once // max(1, query.shape[:2].numel() * memory.key.shape[2:].numel()))
