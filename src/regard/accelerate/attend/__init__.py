"""Ways to work out one attention, all equal to the formula, and the one place that chooses among them.

`explicit` forms every score. `fused` hands dot-product scores with softmax to `scaled_dot_product_attention`.
`flex` uses a structured mask on a GPU without writing it out; `columns`, there, takes strides apart. `linear`
never forms scores at all. `additive`, on a GPU, and `blocked`, anywhere, never form (query, key, neuron).
`banded`, on a CPU, leaves out the keys that a window does not reach, and `strided` those between strides.
`packed` is for sequences that lie end to end in one row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.accelerate.attend import (
    additive,
    banded,
    blocked,
    columns,
    flex,
    fused,
    linear,
    packed,
    strided,
)
from regard.attention import explicit, shield
from regard.attention.explicit import scores
from regard.attention.mask import Both, Causal, Mask, Padding
from regard.attention.memory import Memory
from regard.attention.normalise import Proportional, Softmax
from regard.attention.score import Additive, DotScore, FeatureMap

if TYPE_CHECKING:
    from regard.attention.attention import Attention

__all__ = [
    "additive",
    "attend",
    "banded",
    "blocked",
    "columns",
    "explicit",
    "flex",
    "fused",
    "linear",
    "packed",
    "scores",
    "strided",
]


def attend(attention: Attention, query: Tensor, memory: Memory) -> Tensor:
    """The context of each query, by the fastest kernel that is equal to the formula."""
    mask = memory.mask
    mask = mask and mask.reduce(query.shape[2], memory.key.shape[2], memory.first)
    if mask is None or packed.part_of(mask) is not None:
        return _fastest(attention, query, memory, mask)
    return shield.attend(
        lambda memory: _fastest(attention, query, memory, mask),
        memory,
        mask,
        lambda: explicit.written_out(mask, query, memory),
    )


def _fastest(attention: Attention, query: Tensor, memory: Memory, mask: Mask | None) -> Tensor:
    packing = packed.part_of(mask)
    if mask is not None and packing is not None:
        return packed.attend(attention, query, memory, mask, packing)
    plain = attention.bias is None
    if mask is not None and plain and banded.takes(attention, query, memory, mask):
        parts = banded.parts(query, memory, mask)
        return torch.cat([_fastest(attention, *part, part[1].mask) for part in parts], 2)
    if mask is not None and plain and strided.takes(attention, query, memory, mask):
        return strided.attend(attention, query, memory, mask)
    dropping = attention.training and attention.dropout > 0  # what only the fused kernel can
    match attention.score, attention.normaliser:
        case FeatureMap(), Proportional() if plain and memory.first == 0 and linear.takes(mask):
            return linear.attend(attention, query, memory, mask)
        case DotScore(), Softmax() if query.is_cuda and _is_structured(mask) and not dropping:
            apart = plain and columns.takes(query, memory, mask)
            return (columns if apart else flex).attend(attention, query, memory, mask)
        case DotScore(), Softmax() if not fused.is_too_wide(query, memory):
            return fused.attend(attention, query, memory, mask)
        case Additive(), Softmax() if (
            plain and not dropping and additive.takes(query, memory, mask)
        ):
            return additive.attend(attention, query, memory, mask)
        case Additive(), _ if blocked.takes(query, memory):
            return blocked.attend(attention, query, memory, mask)
        case _:
            return explicit.attend(attention, query, memory, mask)


def _is_structured(mask: Mask | None) -> bool:
    """Whether leaving out whole blocks of keys can pay: not for causal and padding alone."""
    parts = mask.parts if isinstance(mask, Both) else (mask,)
    return any(not isinstance(part, (Causal, Padding, type(None))) for part in parts)
