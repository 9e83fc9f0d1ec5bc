"""The formula for some queries at a time, worked out again on the way back.

Rows of weights know nothing of each other, so this is `explicit` for any score, normaliser and mask, in
memory that grows as the length: (query, key, neuron) is never whole, and what is worked out at once
stays in the cache.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from regard.attention import explicit
from regard.attention.mask import Mask
from regard.attention.memory import Memory

if TYPE_CHECKING:
    from regard.attention.attention import Attention

AT_ONCE = 1 << 20  # (query, key, neuron) triples; more leave the cache, fewer are all overhead
LEAST = 1 << 24  # triples that are better formed whole: the way back need not work them out again
GPU_AT_ONCE, GPU_LEAST = 1 << 27, 1 << 28  # a GPU has no such cache, and many more hands


def takes(query: Tensor, memory: Memory) -> bool:
    """Whether the triples are so many that forming them at once would be felt."""
    least = GPU_LEAST if query.is_cuda else LEAST
    if not (query.is_cuda or torch.is_grad_enabled()):
        least = AT_ONCE  # there is no way back
    return query.shape[:3].numel() * memory.key.shape[2:].numel() > least and query.shape[2] > 1


def attend(
    attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
) -> Float[Tensor, "b h query value_width"]:
    """`explicit.attend`, a block of queries at a time."""

    def read(part: Tensor, start: int, memory: Memory) -> Tensor:
        placed = replace(memory, first=memory.first + start)
        return explicit.attend(attention, part, placed, mask)

    contexts, start = [], 0
    for part in query.split(_step(query, memory), dim=2):
        if torch.is_grad_enabled():
            contexts.append(checkpoint(read, part, start, memory, use_reentrant=False))
        else:
            contexts.append(read(part, start, memory))
        start += part.shape[2]
    return torch.cat(contexts, 2)


def _step(query: Tensor, memory: Memory) -> int:
    """Queries a block."""
    at_once = GPU_AT_ONCE if query.is_cuda else AT_ONCE
    return max(1, at_once // max(1, query.shape[:2].numel() * memory.key.shape[2:].numel()))
