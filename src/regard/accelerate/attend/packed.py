"""Attention over packed sequences: each keeps to itself, and nothing is worked out between two.

On a GPU a kernel of our own reads the packed row as it lies. Everywhere else, and for every mechanism that
the kernel does not know, sequences are laid side by side, attended by the usual kernels, and packed again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from regard.accelerate.triton import segments
from regard.attention.mask import Both, Causal, Mask, Padding
from regard.attention.memory import Memory
from regard.attention.normalise import Softmax
from regard.attention.packed import Packed, Segments
from regard.attention.score import Dot, DotScore, ScaledDot

if TYPE_CHECKING:
    from regard.attention.attention import Attention


def part_of(mask: Mask | None) -> Packed | None:
    """The packing among the parts of a mask, if there is one."""
    parts = mask.parts if isinstance(mask, Both) else (mask,)
    return next((part for part in parts if isinstance(part, Packed)), None)


def attend(
    attention: Attention, query: Tensor, memory: Memory, mask: Mask, packing: Packed
) -> Float[Tensor, "1 h query value_width"]:
    """The context of each query, read from its own sequence alone."""
    widths = (one.shape[-1] for one in (query, memory.key, memory.value))
    known = packing.is_shared_out and _is_known(attention, mask)
    if known and segments.takes(query, *widths):
        score = attention.score
        assert isinstance(score, DotScore)
        return segments.attend(
            score.adapt(query),
            memory.key,
            memory.value,
            packing,
            _is_causal(mask),
            score.scale(query.shape[-1]),
        )
    return _side_by_side(attention, query, memory, _others(mask), packing)


def attend_within(
    attention: Attention,
    states: Float[Tensor, "batch places width"],
    weight: Float[Tensor, "three width"],
    bias: Float[Tensor, " three"] | None,
    heads: int,
    mask: Mask,
) -> Float[Tensor, "1 h places width"] | None:
    """Self-attention whose queries, keys and values are one product; None where no kernel knows it so."""
    packing, score, width = part_of(mask), attention.score, len(weight) // 3 // heads
    if packing is None or not packing.is_within:
        return None
    if not (isinstance(score, (Dot, ScaledDot)) and attention.watcher is None):
        return None
    if not (_is_known(attention, mask) and segments.takes(states, width)):
        return None
    scale = score.scale(width)
    return segments.attend_within(states, weight, bias, heads, packing, _is_causal(mask), scale)


def _is_known(attention: Attention, mask: Mask) -> bool:
    """Whether this is what the kernel works out: softmax over dot products, causal or not."""
    dropping = attention.training and attention.dropout > 0
    bare = len(_others(mask)) == 0  # a compiler can read this, and not `not ()`
    simple = (bare or _is_causal(mask)) and attention.bias is None and not dropping
    known = isinstance(attention.score, DotScore) and isinstance(attention.normaliser, Softmax)
    return simple and known


def _is_causal(mask: Mask) -> bool:
    others = _others(mask)
    return len(others) == 1 and isinstance(others[0], Causal)


def _others(mask: Mask) -> tuple[Mask, ...]:
    parts = mask.parts if isinstance(mask, Both) else (mask,)
    return tuple(part for part in parts if not isinstance(part, Packed))


def _side_by_side(
    attention: Attention, query: Tensor, memory: Memory, others: tuple[Mask, ...], packing: Packed
) -> Tensor:
    """Sequences as rows of a padded batch, through the usual kernels."""
    from regard.accelerate.attend import attend as attend_rows  # which chooses among all of us

    asked, real = _rows(query, packing.queries)
    key, _ = _rows(memory.key, packing.keys)
    value, _ = _rows(memory.value, packing.keys)
    mask = Both.of(*others, Padding(packing.keys.lengths.long()))
    found = attend_rows(attention, asked, replace(memory, key=key, value=value, mask=mask))
    context = found.new_zeros(*query.shape[:3], found.shape[-1])
    context[0, :, _places(packing.queries, real)] = found.transpose(1, 2)[real].transpose(0, 1)
    return context


def _rows(packed: Tensor, layout: Segments) -> tuple[Tensor, Tensor]:
    """(1, heads, places, width) as (sequence, heads, place, width), zeros behind; and what is real."""
    lengths = layout.lengths.long()
    # Compiled code must not look at numbers: it takes the bound for the longest there is.
    longest = layout.longest if torch.compiler.is_compiling() else int(lengths.max())
    within = torch.arange(max(1, longest), device=packed.device)
    real = within < lengths[:, None]
    places = (layout.starts[:-1, None] + within).masked_fill(~real, 0)
    rows = packed[0][:, places].transpose(0, 1)
    return rows.masked_fill(~real[:, None, :, None], 0.0), real


def _places(layout: Segments, real: Tensor) -> Tensor:
    within = torch.arange(real.shape[1], device=real.device)
    return (layout.starts[:-1, None] + within)[real].long()
