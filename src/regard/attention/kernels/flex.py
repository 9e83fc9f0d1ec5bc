"""Structured masks through FlexAttention: blocks of keys that no query may see are never touched."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from regard.attention.mask import Mask
from regard.attention.memory import Memory
from regard.attention.score import DotScore

if TYPE_CHECKING:
    from regard.attention.attention import Attention


def attend(
    attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
) -> Float[Tensor, "b h query value_width"]:
    """softmax(q' . k' scale + bias) v over the blocks that the mask leaves."""
    score = attention.score
    assert isinstance(score, DotScore)
    (batch, heads, queries, _), keys, first = query.shape, memory.key.shape[2], memory.first
    nearer, blocks = None, None
    if attention.bias is not None:
        bias = attention.bias(queries, keys, first)
        nearer = lambda found, _, head, i, j: found + bias[0, head, i, j]  # noqa: E731
    if mask is not None:
        blocks = create_block_mask(
            lambda row, head, i, j: mask.allows(row, head, i + first, j),
            batch,
            heads,
            queries,
            keys,
            device=query.device,
        )
    return kernel(query.is_cuda)(
        score.adapt(query),
        memory.key,
        memory.value,
        score_mod=nearer,
        block_mask=blocks,
        scale=score.scale(memory.key.shape[-1]),
    )


@cache
def kernel(compiled: bool) -> Any:
    """FlexAttention is a kernel only once compiled; plain, it is the same formula, for checking."""
    return torch.compile(flex_attention) if compiled else flex_attention
