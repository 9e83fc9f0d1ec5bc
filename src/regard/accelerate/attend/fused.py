"""Dot-product scores with softmax, through `scaled_dot_product_attention`: weights are never formed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from regard.attention import formula
from regard.attention.formula import AttendForm
from regard.attention.mask import Causal, Mask
from regard.attention.memory import Memory
from regard.attention.normalise import Softmax
from regard.attention.score import Additive, DotScore

if TYPE_CHECKING:
    from regard.attention.attention import Attention


@final
@dataclass(frozen=True)
class Fused(AttendForm):
    """For heads wider than `widest` torch has no kernel on a GPU, and a slower way than the formula."""

    widest: int = 256

    def takes(
        self,
        attention: Attention,
        query: Tensor,
        memory: Memory,
        mask: Mask | None,  # noqa: ARG002
    ) -> bool:
        """Any mask, bias and dropout; but not the one wide head of a recurrent decoder on a GPU."""
        if not (
            isinstance(attention.score, DotScore) and isinstance(attention.normaliser, Softmax)
        ):
            return False
        wide = max(memory.key.shape[-1], memory.value.shape[-1]) > self.widest
        return not (query.is_cuda and wide)

    def attend(
        self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
    ) -> Float[Tensor, "b h query value_width"]:
        """softmax(q' . k' scale + bias) v. Writing out a mask costs the fastest kernel."""
        score = attention.score
        assert isinstance(score, DotScore)
        keys = memory.key.shape[2]
        causal = isinstance(mask, Causal) and memory.first == 0 and attention.bias is None
        allowed = None if causal or mask is None else memory.allowed(query.shape[2])
        pattern = allowed
        if attention.bias is not None:
            pattern = attention.bias(query.shape[2], keys, memory.first).to(query.dtype)
            if allowed is not None:
                # A row that may see nothing keeps its bias, finite, and is zeroed below.
                empty = ~allowed.any(-1, keepdim=True)
                pattern = pattern.masked_fill(~(allowed | empty), -torch.inf)
        context = F.scaled_dot_product_attention(
            score.adapt(query),
            memory.key,
            memory.value,
            attn_mask=pattern,
            dropout_p=attention.dropout if attention.training else 0.0,
            is_causal=causal,
            scale=score.scale(memory.key.shape[-1]),
        )
        if allowed is None or attention.bias is None:
            return context
        return context.masked_fill(~allowed.any(-1, keepdim=True), 0.0)


# The formula for some queries at a time, worked out again in the backward pass.
# Rows of weights know nothing of each other, so this is the formula for any score, normaliser and mask, in
# memory that grows as the length: (query, key, neuron) is never whole, and what is worked out at once stays
# in the cache.


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
