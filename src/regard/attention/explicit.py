"""The formula as it stands: scores, weights, context. Any score, any normaliser, any mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.memory import Memory

if TYPE_CHECKING:
    from regard.attention.attention import Attention


def scores(attention: Attention, query: Tensor, memory: Memory) -> Float[Tensor, "b h query key"]:
    """score(q_i, k_j), plus what their distance adds; unmasked."""
    found = attention.score(query, memory.key)
    if attention.bias is not None:
        found = found + attention.bias(query.shape[2], memory.key.shape[2], memory.first)
    return found


def attend(
    attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
) -> Float[Tensor, "b h query value_width"]:
    """normalise(score(q, k)) v."""
    allowed = written_out(mask, query, memory)
    weights = attention.normaliser(scores(attention, query, memory), allowed)
    weights = F.dropout(weights, attention.dropout, attention.training)
    return weights @ memory.value


def written_out(
    mask: Mask | None, query: Tensor, memory: Memory
) -> Bool[Tensor, "#b #h query key"] | None:
    """The mask as a bool tensor for this query and memory."""
    if mask is None:
        return None
    batch, heads, keys = memory.key.shape[:3]
    return mask.to_bool(
        query.shape[2], keys, batch=batch, heads=heads, first=memory.first, device=query.device
    )
