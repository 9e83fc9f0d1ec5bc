"""The formula as it stands, context_i = sum_j normalise(score(q_i, k_j))_j v_j, and who may stand in for it.

Any score, any normaliser, any mask. Where a form of `accelerate/attend` takes a case, it gives the same
context sooner, or with less memory: it need not form every score.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.attention import shield
from regard.attention.mask import Mask
from regard.attention.memory import Memory
from regard.seams import Seam

if TYPE_CHECKING:
    from regard.attention.attention import Attention

Context = Float[Tensor, "b h query value_width"]


class AttendForm(ABC):
    """Works out one attention otherwise than by forming every score.

    `shields` says that a form itself keeps what is not finite from those who may not see it.
    """

    shields = False
    devices: tuple[str, ...] = ()  # where alone it works; none: everywhere

    @abstractmethod
    def takes(self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None) -> bool:
        """Whether this case is known here, and had better be worked out here."""

    @abstractmethod
    def attend(
        self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
    ) -> Context:
        """The context, as `context` below gives it."""


ATTEND: Seam[AttendForm] = Seam("attend", "attend")


def attend(attention: Attention, query: Tensor, memory: Memory) -> Context:
    """The context of each query, by the first form that takes this case or else by the formula."""
    mask = memory.mask
    mask = mask and mask.reduce(query.shape[2], memory.key.shape[2], memory.first)
    form = _form(attention, query, memory, mask)
    work = context if form is None else form.attend
    if mask is None or (form is not None and form.shields):
        return work(attention, query, memory, mask)
    return shield.attend(
        lambda memory: work(attention, query, memory, mask),
        memory,
        mask,
        lambda: memory.allowed(query.shape[2]),
    )


def attend_part(attention: Attention, query: Tensor, memory: Memory, mask: Mask | None) -> Context:
    """The same for a form that has cut its case into smaller ones, behind its own shield."""
    form = _form(attention, query, memory, mask)
    work = context if form is None else form.attend
    return work(attention, query, memory, mask)


def _form(
    attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
) -> AttendForm | None:
    here = query.device.type
    for form in ATTEND.forms():
        if here in (form.devices or (here,)) and form.takes(attention, query, memory, mask):
            return form
    return None


def context(attention: Attention, query: Tensor, memory: Memory, mask: Mask | None) -> Context:
    """normalise(score(q, k)) v, with dropout on the weights while training."""
    allowed = None if mask is None else memory.allowed(query.shape[2])
    weights = attention.normaliser(scores(attention, query, memory), allowed)
    weights = F.dropout(weights, attention.dropout, attention.training)
    return weights @ memory.value


def scores(attention: Attention, query: Tensor, memory: Memory) -> Float[Tensor, "b h query key"]:
    """score(q_i, k_j), plus what their distance adds; unmasked."""
    total = attention.score(query, memory.key)
    if attention.bias is not None:
        total = total + attention.bias(query.shape[2], memory.key.shape[2], memory.first)
    return total
