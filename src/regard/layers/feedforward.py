"""The same small network at each position: FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (L59)."""

from __future__ import annotations

from typing import final

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.settings.names import Activation

States = Float[Tensor, "... width"]


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
