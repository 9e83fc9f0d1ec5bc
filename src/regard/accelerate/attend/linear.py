"""Attention in linear time: with phi(q) . phi(k) as the score, sums over keys can be taken before the query.

context_i = phi(q_i) S / (phi(q_i) . z), S = sum_j phi(k_j) v_j^T, z = sum_j phi(k_j) (Katharopoulos 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.attention.formula import AttendForm
from regard.attention.mask import Both, Causal, Mask, Padding
from regard.attention.memory import Memory
from regard.attention.normalise import Proportional
from regard.attention.score import FeatureMap

if TYPE_CHECKING:
    from regard.attention.attention import Attention

CHUNK = 64  # positions worked out at once in the causal form; only speed depends on it


@final
@dataclass(frozen=True)
class Linear(AttendForm):
    """phi(q) . phi(k) divided by its sum, whose sums respect padding and causality, and nothing finer."""

    def takes(
        self,
        attention: Attention,
        query: Tensor,  # noqa: ARG002
        memory: Memory,
        mask: Mask | None,
    ) -> bool:
        """Whether it is that mechanism, from the first position on; no dropout, which needs the weights."""
        known = isinstance(attention.score, FeatureMap) and attention.bias is None
        if not (known and isinstance(attention.normaliser, Proportional) and memory.first == 0):
            return False
        if attention.is_dropping:
            return False
        parts = mask.parts if isinstance(mask, Both) else (mask,)
        return all(isinstance(part, (Causal, Padding, type(None))) for part in parts)

    def attend(
        self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
    ) -> Float[Tensor, "b h query value_width"]:
        """The context of each query, without ever forming a score."""
        feature, key = attention.score.adapt(query), memory.key
        void = None if mask is None else mask.unseen(key.shape[2])
        if void is not None:
            key = key.masked_fill(void[:, None, :, None], 0.0)
        parts = mask.parts if isinstance(mask, Both) else (mask,)
        if any(isinstance(part, Causal) for part in parts):
            return _causal(feature, key, memory.value)
        return LinearState.of(key, memory.value).read(feature)


@final
@dataclass(frozen=True, eq=False)
class LinearState:
    """The recurrent form: all the past in two sums, however long it was."""

    sum: Float[Tensor, "batch heads width value_width"]
    total: Float[Tensor, "batch heads width"]

    @classmethod
    def of(
        cls,
        key: Float[Tensor, "batch heads key width"],
        value: Float[Tensor, "batch heads key value_width"],
    ) -> LinearState:
        """The sums over these keys; `key` is phi(k)."""
        return cls(key.mT @ value, key.sum(2))

    def __add__(self, other: LinearState) -> LinearState:
        return LinearState(self.sum + other.sum, self.total + other.total)

    def read(
        self, query: Float[Tensor, "batch heads query width"]
    ) -> Float[Tensor, "batch heads query value_width"]:
        """What queries phi(q) read from the sums."""
        return _divide(query @ self.sum, query @ self.total.unsqueeze(-1))


def _causal(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Within a chunk by its small triangle of scores; everything before it by the running sums."""
    queries = query.shape[2]
    missing = max(queries, key.shape[2])
    missing = -(-missing // CHUNK) * CHUNK
    query, key, value = (
        F.pad(x, (0, 0, 0, missing - x.shape[2])).unflatten(2, (-1, CHUNK))
        for x in (query, key, value)
    )  # (batch, heads, chunk, CHUNK, width)
    near = (query @ key.mT).tril()
    sums = (key.mT @ value).cumsum(2).roll(1, 2)
    totals = key.sum(3).cumsum(2).roll(1, 2)
    sums[:, :, 0], totals[:, :, 0] = 0.0, 0.0
    above = near @ value + query @ sums
    below = near.sum(-1, keepdim=True) + query @ totals.unsqueeze(-1)
    return _divide(above, below).flatten(2, 3)[:, :, :queries]


def _divide(above: Tensor, below: Tensor) -> Tensor:
    return above / below.masked_fill(below == 0, 1.0)
