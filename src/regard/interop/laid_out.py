"""Weights that a module lays out in a way of its own, as (batch, heads, query, key): what everybody reads.

Some put the heads into the batch, those of transformers behind it; Longformer keeps a band around the
diagonal, (batch, query, heads, offset).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import Aligned
from regard.errors import UsageError
from regard.interop.aligned import known

HEADS = (
    "num_heads",
    "num_attention_heads",
    "num_attn_heads",
    "n_heads",
    "n_head",
    "nhead",
    "heads",
)
BAND = "one_sided_attn_window_size"  # how modules with a band say how far they see


def laid_out(found: Aligned, module: nn.Module, given: Sequence[Any]) -> Aligned:
    """The same attention with its heads and keys where they belong."""
    if isinstance(getattr(module, BAND, None), int):
        return _from_band(found, module)
    heads = _heads_of(module)
    rows, alone = found.query.shape[0], found.query.shape[1] == 1
    if heads is None or not alone or rows % heads or not _is_batch(rows // heads, given):
        return found
    if rows > heads and not type(module).__module__.startswith("transformers."):
        return found  # whether heads or the batch come first, nobody says
    return known(_folded(found.weights, heads), _folded(found.scores, heads))


def _folded(rows: Tensor, heads: int) -> Tensor:
    return rows[:, 0].unflatten(0, (-1, heads))


def _heads_of(module: nn.Module) -> int | None:
    counts = (getattr(module, name, None) for name in HEADS)
    return next((one for one in counts if isinstance(one, int) and one > 1), None)


def _is_batch(size: int, given: Sequence[Any]) -> bool:
    """Whether what the module was given has so many rows; some put time first."""
    states = next((one for one in given if isinstance(one, Tensor) and one.dim() == 3), None)
    return states is not None and size in states.shape[:2]


def _from_band(found: Aligned, module: nn.Module) -> Aligned:
    """Every query with all its keys; those that are too far away have nothing."""
    side = int(getattr(module, BAND))
    if found.weights.shape[-1] != 2 * side + 1:
        raise UsageError(
            f"some tokens of this {type(module).__name__} are read by all others: no map holds them",
            where="global_attention_mask",
            remedy="look without global tokens: leave the mask out",
        )
    queries = found.weights.shape[1]
    place = torch.arange(queries, device=found.weights.device)
    keys = place[:, None] + torch.arange(-side, side + 1, device=place.device)
    inside = (keys >= 0) & (keys < queries)

    def dense(band: Tensor, nothing: float) -> Tensor:
        own = band.transpose(1, 2).masked_fill(~inside, nothing)
        whole = own.new_full((*own.shape[:3], queries + 2 * side), nothing)
        whole.scatter_(3, (keys + side).expand(own.shape), own)
        return whole[..., side : side + queries]

    return known(dense(found.weights, 0.0), dense(found.scores, -torch.inf))
