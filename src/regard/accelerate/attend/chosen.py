"""Hard attention that fetches the one value it chose, and neither shares out weights nor sums by them (L96).

context_i = v_j, j = argmax_j score(q_i, k_j)

Soft attention reads every value of the source; this reads one. Every score is worked out by both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import formula
from regard.attention.formula import AttendForm
from regard.attention.mask import Mask
from regard.attention.memory import Memory
from regard.attention.normalise import Choosing

if TYPE_CHECKING:
    from regard.attention.attention import Attention


@final
@dataclass(frozen=True)
class Chosen(AttendForm):
    """A choice that is made for good: by a model that answers, and learns nothing from it."""

    def takes(
        self,
        attention: Attention,
        query: Tensor,
        memory: Memory,
        mask: Mask | None,  # noqa: ARG002
    ) -> bool:
        """Whether one key is chosen, and no gradient has to find its way through the choice."""
        if not isinstance(attention.normaliser, Choosing) or attention.normaliser.is_random:
            return False
        whole = memory.value.shape[2] > 0 and query.shape[:2] == memory.value.shape[:2]
        return whole and not torch.is_grad_enabled() and not attention.is_dropping

    def attend(
        self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
    ) -> Float[Tensor, "b h query value_width"]:
        """The value of the best key; zeros for a query that may see none."""
        scores = formula.scores(attention, query, memory)
        allowed = None if mask is None else memory.allowed(query.shape[2])
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -torch.inf)
        best, choice = scores.max(-1, keepdim=True)
        context = memory.value.gather(2, choice.expand(*choice.shape[:3], memory.value.shape[3]))
        context = context + (best - best)  # a score that is not finite is not hidden
        if allowed is None:
            return context
        return context.masked_fill(~allowed.any(-1, keepdim=True), 0.0)
