"""What a block has beside attention: layer normalisation, residual connection, feed-forward network."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.settings.architecture import Activation, NormForm, NormOrder

States = Float[Tensor, "... width"]


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
            return F.layer_norm(states, states.shape[-1:], self.weight, self.bias, self.eps)
        centred = states - states.mean(-1, keepdim=True)
        # A norm has a gradient, 0, where all is equal; the root of the variance has none.
        sigma = torch.linalg.vector_norm(centred, dim=-1, keepdim=True) / states.shape[-1] ** 0.5
        return centred / (sigma + self.eps)


@final
class Residual(nn.Module):
    """x + f(x) (L60), with the norm before f (pre), after the sum (post, the lecture's order), or nowhere.

    `open` gives what f should see, `close` adds what f gives:

        pre:   x ---> norm ---> f ---> + --->        post:   x ---> f ---> + ---> norm --->
                 \\____________________/                        \\__________/

    Without `adds` the way around f is closed: f(x) goes on alone (L103).
    """

    def __init__(
        self,
        width: int,
        *,
        order: NormOrder = "pre",
        form: NormForm = "standard",
        eps: float = 1e-5,
        dropout: float = 0.0,
        adds: bool = True,
    ) -> None:
        super().__init__()
        self.order, self.adds = order, adds
        self.norm = None if order == "none" else LayerNorm(width, form, eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: States, sublayer: Callable[[States], States]) -> States:
        """x + f(norm(x)), or norm(x + f(x))."""
        return self.close(states, sublayer(self.open(states)))

    def open(self, states: States) -> States:
        """What the sub-layer sees."""
        return self.norm(states) if self.norm is not None and self.order == "pre" else states

    def close(self, states: States, change: States) -> States:
        """The states with the sub-layer's change added."""
        change = self.dropout(change)
        states = states + change if self.adds else change
        return self.norm(states) if self.norm is not None and self.order == "post" else states


# The same small network at each position: FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (L59).


def activate(states: Tensor, name: Activation) -> Tensor:
    """The non-linearity by its name; swiglu spends half its input on a gate (Shazeer 2020)."""
    match name:
        case "relu":
            return F.relu(states)
        case "gelu":
            return F.gelu(states)
        case "gelu-tanh":
            return F.gelu(states, approximate="tanh")
        case "swish":
            return F.silu(states)
        case "swiglu":
            value, gate = states.chunk(2, -1)
            return value * F.silu(gate)


@final
class FeedForward(nn.Module):
    """Widen, activate, narrow."""

    def __init__(
        self,
        width: int,
        inner_width: int,
        activation: Activation = "relu",
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.activation = activation
        doubled = 2 if activation == "swiglu" else 1
        self.widen = nn.Linear(width, doubled * inner_width, bias=bias)
        self.narrow = nn.Linear(inner_width, width, bias=bias)
        self.dropout = nn.Dropout(dropout)
        for projection in (self.widen, self.narrow):
            nn.init.xavier_uniform_(projection.weight)
            if bias:
                nn.init.zeros_(projection.bias)

    def forward(self, states: States) -> States:
        """Each position on its own."""
        inner = activate(self.widen(states), self.activation)
        return self.narrow(self.dropout(inner))
