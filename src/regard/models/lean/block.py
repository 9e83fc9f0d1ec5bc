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
    key: Float[Tensor, "rows heads key width"],
    value: Float[Tensor, "rows heads key value_width"],
    sight: Tensor | None,
) -> Float[Tensor, "rows heads query value_width"]:
    """softmax(q k^T + sight) v; queries are scaled already."""
    if len(query) * query.shape[2] < FEW and key.shape[-1] == value.shape[-1]:
        return F.scaled_dot_product_attention(query, key, value, sight, scale=1.0)
    rows, heads, queries, width = query.shape
    scores = torch.bmm(
        query.reshape(rows * heads, queries, width), key.flatten(0, 1).transpose(1, 2)
    ).view(rows, heads, queries, -1)
    if sight is not None:
        scores = scores.add_(sight)
    weights = torch.softmax(scores, -1)
    return torch.bmm(weights.flatten(0, 1), value.flatten(0, 1)).view(rows, heads, queries, -1)
