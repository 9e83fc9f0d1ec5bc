"""One Transformer block as a few plain products: no modules, no masks as values, nothing to watch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.accelerate.cpu.kv_cache import Kept
from regard.accelerate.cpu.product import Product, constant, shared
from regard.layers.sublayer import activate
from regard.settings.architecture import Activation

Rows = Float[Tensor, "rows width"]
Queries = Float[Tensor, "rows heads query width"]
PRODUCT = 3  # what a product of floats takes, in products of integers
FEW = 8  # for fewer matrices than this one fused kernel is faster than three products
FINEST = 1 << 14  # the largest weight of a query, in integers
LOG_FINEST = math.log(FINEST)
VANISHING = -9.0  # exp of it is 0 among integers; that of far less takes a processor far longer
LONG = (1 << 24) // FINEST  # fewer keys than this have weights that add up exactly in float32
SHARES = 1 << 23  # what all weights times the largest integer of a value come to, at the most
SCORES = 1 << 17  # that the processor's cache has room for
VECTOR = 64  # floats
CACHED = 128  # rows of a feed-forward network that the processor's cache has room for


@final
@dataclass(frozen=True, eq=False)
class Norm:
    """Layer normalisation in the standard form."""

    weight: Tensor
    bias: Tensor
    eps: float

    def __call__(self, states: Rows) -> Rows:
        """Mean 0 and deviation 1, then gain and shift."""
        return torch.layer_norm(states, self.weight.shape, self.weight, self.bias, self.eps)


@final
@dataclass(frozen=True, eq=False)
class Residual:
    """The norm of a sub-layer and where it stands."""

    norm: Norm
    before: bool

    def open(self, states: Rows) -> Rows:
        """What the sub-layer sees."""
        return self.norm(states) if self.before else states

    def close(self, states: Rows) -> Rows:
        """The sum, ready for the next sub-layer."""
        return states if self.before else self.norm(states)


@final
@dataclass(frozen=True, eq=False)
class Feed:
    """Widen, activate, narrow, add."""

    residual: Residual
    widen: Product
    narrow: Product
    activation: Activation

    def __call__(self, states: Rows) -> Rows:
        """Each position on its own; `states` may be overwritten."""
        if len(states) > CACHED:  # what lies between the products stays in the cache
            for part in states.split(CACHED):
                part.copy_(self(part))
            return states
        opened = self.residual.open(states)
        if self.activation == "relu":
            inner = self.widen.relu(opened)
        else:
            inner = _activated(self.widen(opened), self.activation)
        return self.residual.close(self.narrow.onto(inner, states))


def _activated(states: Rows, name: Activation) -> Float[Tensor, "rows inner"]:
    """The activation, by whole vectors: what does not fill one is worked out by another function."""
    if name == "swiglu":
        value, gate = states.chunk(2, -1)
        return value * _activated(gate, "swish")
    width = states.shape[1]
    padded = F.pad(states, (0, -width % VECTOR)) if width % VECTOR else states
    return activate(padded, name)[:, :width]


@final
@dataclass(frozen=True, eq=False)
class Reading:
    """The products around one attention: into queries (self-attention: keys and values as well), and out."""

    residual: Residual
    into: Product
    out: Product
    heads: int
    width: int  # of one head

    def close(self, context: Float[Tensor, "rows columns"], states: Rows) -> Rows:
        """What was read, added to the states."""
        return self.residual.close(self.out.onto(context, states))


def attend(
    query: Queries,
    kept: Kept,
    filled: int,
    sight: Tensor | None,
    scratch: Tensor | None = None,
    sizes: Tensor | None = None,
) -> Queries:
    """softmax(q k^T + sight) v over the entries that are filled; queries are scaled already.

    `sizes` may tell the largest number of each query.
    """
    if kept.scale is not None:
        sizes = query.abs().amax(3, keepdim=True) if sizes is None else sizes
        return _in_parts(_rounded(query, sizes, kept.largest), kept, filled, sight, scratch)
    rows, heads, queries, width = query.shape
    if rows * queries < FEW:
        key, value = kept.floats(filled)
        return F.scaled_dot_product_attention(query, key, value, sight, scale=1.0)
    flat, keys = query.reshape(rows * heads, queries, width), kept.unscaled(0, filled, None)
    scores = torch.bmm(flat, keys.transpose(1, 2)).view(rows, heads, queries, filled)
    weights = torch.softmax(scores if sight is None else scores.add_(sight), -1)
    return torch.bmm(weights.flatten(0, 1), kept.unscaled(1, filled, None)).view(query.shape)


def _rounded(query: Queries, sizes: Tensor, largest: int) -> Queries:
    """Queries on a grid so coarse that their products with integers up to `largest` add up exactly.

    Float32 adds integers below 2^24 without rounding, in any order. A sum behind a number 2^s times as large
    keeps 24 - s bits, at most one of them more than here where it crosses a power of two.
    """
    shift = math.ceil(math.log2(2 * largest * query.shape[3]))
    far = sizes.mul_(constant(2.0**shift))
    return (query + far).sub_(far)


def _in_parts(
    query: Queries, kept: Kept, filled: int, sight: Tensor | None, scratch: Tensor | None
) -> Queries:
    """As many rows at once as the scratch pad has room for, and as many queries as the cache has."""
    rows, heads, queries, width = query.shape
    some = rows if scratch is None else len(scratch) // max(1, heads * filled * width)
    if some < rows:
        parts = [slice(first, first + some) for first in range(0, rows, some)]
        shown = [None if sight is None else sight[part] for part in parts]
        contexts = (
            _in_parts(query[part], kept.of(part), filled, seen, scratch)
            for part, seen in zip(parts, shown, strict=True)
        )
        return torch.cat(list(contexts))
    each = max(1, SCORES // max(1, rows * heads * filled))
    if each < queries and (sight is None or sight.shape[2] == 1):
        some_queries = query.split(each, 2)
        return torch.cat([_exactly(part, kept, filled, sight, scratch) for part in some_queries], 2)
    return _exactly(query, kept, filled, sight, scratch)


def _exactly(
    query: Queries, kept: Kept, filled: int, sight: Tensor | None, scratch: Tensor | None
) -> Queries:
    """Attention whose sums are exact: integers, so that neither their order nor their number matters.

    With values v_j = b_j n_j, n_j integers, the sum of w_j v_j is that of round(c w_j b_j) n_j, divided by c,
    and c is chosen so that it stays below 2^24. A key that is hidden has weight 0 and adds nothing.
    """
    rows, heads, queries, _ = query.shape
    assert kept.scale is not None
    key_scale, value_scale = kept.scale[..., :filled]
    work = PRODUCT * query.numel() * filled
    size = rows * heads * queries * filled
    # One line of whole vectors, of which exp is the same everywhere.
    flat = torch.empty(-(-size // VECTOR) * VECTOR)
    scores = flat[:size].view(rows * heads, queries, filled)
    keys = kept.unscaled(0, filled, scratch).transpose(1, 2)
    multiply = partial(torch.bmm, out=scores)
    shared(work, multiply, query.reshape(rows * heads, queries, -1), keys)
    weights = scores.view(rows, heads, queries, filled)
    if sight is None:
        weights.mul_(key_scale)
    else:
        torch.addcmul(sight, weights, key_scale, out=weights)
    weights.sub_(weights.amax(-1, keepdim=True).sub_(constant(LOG_FINEST)))
    flat.clamp_(min=VANISHING).exp_().round_()
    total = _total(weights)
    bound = kept.bound
    if bound is None:
        bound = value_scale if sight is None else value_scale + sight
        bound = bound.amax(-1, keepdim=True)
    bound = bound * constant(kept.largest / SHARES)
    weights.mul_(value_scale).div_(total.mul_(bound))
    context = shared(work, torch.bmm, scores.round_(), kept.unscaled(1, filled, scratch))
    return context.view(query.shape).mul_(bound)


def _total(weights: Tensor) -> Tensor:
    """The sum over keys, exactly, of integers of at most FINEST each."""
    if weights.shape[-1] < LONG:
        return weights.sum(-1, keepdim=True)
    return weights.sum(-1, keepdim=True, dtype=torch.float64).float()
