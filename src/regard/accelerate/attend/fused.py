"""Dot-product scores with softmax, through `scaled_dot_product_attention`: weights are never formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.attention.formula import AttendForm, written_out
from regard.attention.mask import Causal, Mask
from regard.attention.memory import Memory
from regard.attention.normalise import Softmax
from regard.attention.score import DotScore

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
        allowed = None if causal else written_out(mask, query, memory)
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
