"""The best candidates of each row, with ties broken by index: the same on every device."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


def best(
    scores: Float[Tensor, "rows candidates"], count: int
) -> tuple[Float[Tensor, "rows count"], Int[Tensor, "rows count"]]:
    """The `count` highest scores, highest first; of equal ones the lower index first."""
    count = min(count, scores.shape[1])
    if scores.dtype != torch.float32:
        values, index = scores.sort(dim=-1, descending=True, stable=True)
        return values[:, :count], index[:, :count]
    # `topk` breaks ties as it likes. So a float's bits, which order like the float once negatives are
    # flipped, become the high half of an integer, and the index, reversed, the low half: no two are equal.
    bits = (scores + 0.0).view(torch.int32).long()
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    low = 0xFFFFFFFF - torch.arange(scores.shape[1], device=scores.device)
    index = 0xFFFFFFFF - ((ordered << 32) | low).topk(count, -1).values.bitwise_and(0xFFFFFFFF)
    return scores.gather(1, index), index
