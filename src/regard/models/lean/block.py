"""One Transformer block as a few plain products: no modules, no masks as values, nothing to watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.layers.feedforward import Activation, activate
from regard.models.lean.product import Product

Rows = Float[Tensor, "rows width"]
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
    layer: Float[Tensor, "two rows heads key width"],
    sight: Tensor | None,
    scratch: Tensor | None = None,
) -> Float[Tensor, "rows heads query width"]:
    """softmax(q k^T + sight) v; queries are scaled already.

    Keys, then values, that are kept in fewer bytes become floats on the scratch pad.
    """
    key, value = layer
    rows, heads, queries, width = query.shape
    if rows * queries < FEW:
        key, value = key.to(query.dtype), value.to(query.dtype)
        return F.scaled_dot_product_attention(query, key, value, sight, scale=1.0)
    flat = query.reshape(rows * heads, queries, width)
    scores = torch.bmm(flat, _floats(key, scratch).flatten(0, 1).transpose(1, 2))
    scores = scores.view(rows, heads, queries, -1)
    if sight is not None:
        scores = scores.add_(sight)
    weights = torch.softmax(scores, -1).flatten(0, 1)
    return torch.bmm(weights, _floats(value, scratch).flatten(0, 1)).view(query.shape)


def _floats(kept: Tensor, scratch: Tensor | None) -> Tensor:
    return kept if scratch is None else scratch[: kept.numel()].view(kept.shape).copy_(kept)
