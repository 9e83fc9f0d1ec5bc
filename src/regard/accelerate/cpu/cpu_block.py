"""One Transformer block as a few plain products: no modules, no masks as values, nothing to watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.accelerate.cpu.kv_cache import Kept
from regard.accelerate.cpu.product import Product
from regard.accelerate.cpu.threads import shared
from regard.layers.feedforward import activate
from regard.settings.names import Activation

Rows = Float[Tensor, "rows width"]
PRODUCT = 3  # what a product of floats takes, in products of whole numbers
FEW = 8  # for fewer matrices than this one fused kernel is faster than three products
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
    """Widen, bend, narrow, add."""

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
            inner = activate(self.widen(opened), self.activation)
        return self.residual.close(self.narrow.onto(inner, states))


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
    query: Float[Tensor, "rows heads query width"],
    kept: Kept,
    filled: int,
    sight: Tensor | None,
    scratch: Tensor | None = None,
) -> Float[Tensor, "rows heads query width"]:
    """softmax(q k^T + sight) v over the entries that are filled; queries are scaled already.

    Keys, then values, that are whole numbers become floats on the scratch pad.
    """
    rows, heads, queries, width = query.shape
    if rows * queries < FEW:
        key, value = kept.floats(filled)
        return F.scaled_dot_product_attention(query, key, value, sight, scale=1.0)
    some = rows if scratch is None else len(scratch) // max(1, heads * filled * width)
    if some < rows:
        parts = [slice(first, first + some) for first in range(0, rows, some)]
        shown = [None if sight is None else sight[part] for part in parts]
        found = (
            attend(query[part], kept.of(part), filled, seen, scratch)
            for part, seen in zip(parts, shown, strict=True)
        )
        return torch.cat(list(found))
    key_scale, value_scale = kept.scales(filled)
    work = PRODUCT * query.numel() * filled
    flat, keys = query.reshape(rows * heads, queries, width), kept.unscaled(0, filled, scratch)
    scores = shared(work, torch.bmm, flat, keys.transpose(1, 2))
    scores = _seen(scores.view(rows, heads, queries, filled), key_scale, sight)
    weights = torch.softmax(scores, -1)
    if value_scale is not None:
        weights.mul_(value_scale)
    values = kept.unscaled(1, filled, scratch)
    return shared(work, torch.bmm, weights.flatten(0, 1), values).view(query.shape)


def _seen(scores: Tensor, scale: Tensor | None, sight: Tensor | None) -> Tensor:
    """The scores in their scale, without what is hidden."""
    if scale is None:
        return scores if sight is None else scores.add_(sight)
    return scores.mul_(scale) if sight is None else torch.addcmul(sight, scores, scale)
