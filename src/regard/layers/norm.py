"""Layer normalisation in both lecture forms, and the residual connection in both orders.

Where one sub-layer's change is added, the next one's norm reads the sum: the two are one pass over memory.
"""

from __future__ import annotations

from typing import NamedTuple, final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.accelerate.triton import norm_op
from regard.settings.names import NormForm, NormOrder

States = Float[Tensor, "... width"]
Vector = Float[Tensor, " width"]


@final
class LayerNorm(nn.Module):
    """(x - mu) / sqrt(sigma^2 + eps) * gamma + beta (Ba 2016; L62).

    The plain form, (x - mu) / (sigma + eps), has no gain and no shift (L61).
    """

    def __init__(self, width: int, form: NormForm = "standard", eps: float = 1e-5) -> None:
        super().__init__()
        self.form, self.eps = form, eps
        self.weight = nn.Parameter(torch.ones(width)) if form == "standard" else None
        self.bias = nn.Parameter(torch.zeros(width)) if form == "standard" else None

    def forward(self, states: States) -> States:
        """Mean 0 and deviation 1 over the width of each position."""
        if self.weight is not None and self.bias is not None:
            if norm_op.takes(states):
                return norm_op.norm(states, self.weight, self.bias, self.eps)
            return F.layer_norm(states, states.shape[-1:], self.weight, self.bias, self.eps)
        centred = states - states.mean(-1, keepdim=True)
        # A norm has a gradient, 0, where all is equal; the root of the variance has none.
        sigma = torch.linalg.vector_norm(centred, dim=-1, keepdim=True) / states.shape[-1] ** 0.5
        return centred / (sigma + self.eps)


@final
class Residual(nn.Module):
    """x + f(x), with the norm before f (pre) or after the sum (post, the lecture's order).

    `open` gives what f should see, `close` adds what f found:

        pre:   x ---> norm ---> f ---> + --->        post:   x ---> f ---> + ---> norm --->
                 \\____________________/                        \\__________/
    """

    def __init__(
        self,
        width: int,
        *,
        order: NormOrder = "pre",
        form: NormForm = "standard",
        eps: float = 1e-5,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.order = order
        self.norm = LayerNorm(width, form, eps)
        self.dropout = nn.Dropout(dropout)

    def open(self, states: States) -> States:
        """What the sub-layer sees."""
        return self.norm(states) if self.order == "pre" else states

    def debt(self, states: States, layer: nn.Linear) -> Vector | None:
        """The bias of a sub-layer's last map, if its gradient, a sum over all places, is better found here.

        Whoever is given it back with the change pays it; the layer then must not (`mapped`).
        """
        return layer.bias if self.order == "pre" and norm_op.takes(states) else None

    def close(self, states: States, change: States, debt: Vector | None = None) -> States:
        """The states with the sub-layer's change added."""
        if debt is not None:
            change = change + (debt - debt.detach()).to(change.dtype)  # nothing but a gradient
        states = states + self.dropout(change)
        return states if self.order == "pre" else self.norm(states)

    def pass_on(
        self, states: States, change: States, following: Residual, debt: Vector | None = None
    ) -> tuple[States, States]:
        """Close this one and open the next: the states, and what the next sub-layer sees."""
        if following.order == "pre":
            return self.close_and_norm(states, change, following.norm, debt)
        states = self.close(states, change, debt)
        return states, states

    def close_and_norm(
        self, states: States, change: States, norm: nn.Module, debt: Vector | None = None
    ) -> tuple[States, States]:
        """The closed states and what a norm makes of them, in one pass over memory where that pays."""
        share = self.dropout.p if self.training else 0.0
        bare = self.order == "pre" and share < 1 and norm_op.takes(states, change)
        if bare and isinstance(norm, LayerNorm) and norm.form == "standard":
            assert norm.weight is not None
            assert norm.bias is not None
            return norm_op.add_norm(states, change, norm.weight, norm.bias, norm.eps, share, debt)
        states = self.close(states, change, debt)
        return states, norm(states)


@final
class Unclosed(NamedTuple):
    """States between two blocks, and a change that the residual before has still to add, with its debt."""

    states: States
    change: States | None = None
    residual: Residual | None = None
    debt: Vector | None = None


def open_next(before: Unclosed, following: Residual) -> tuple[States, States]:
    """The states with all added, and what the next sub-layer sees."""
    if before.change is None or before.residual is None:
        return before.states, following.open(before.states)
    return before.residual.pass_on(before.states, before.change, following, before.debt)


def close_last(before: Unclosed, norm: LayerNorm | None = None) -> States:
    """The states with all added, behind a norm if there is one."""
    if before.change is None or before.residual is None:
        return before.states if norm is None else norm(before.states)
    if norm is None:
        return before.residual.close(before.states, before.change, before.debt)
    return before.residual.close_and_norm(before.states, before.change, norm, before.debt)[1]
