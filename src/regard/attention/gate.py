"""Gates that training can close: one hard concrete number a head (Louizos 2018; of heads, Voita 2019).

    u ~ U(0, 1),  s = sigmoid((ln u - ln(1 - u) + ln alpha) / beta)
    z = min(1, max(0, s (zeta - gamma) + gamma))

The stretched sigmoid is cut at 0 and 1, so a gate is exactly 0, or exactly 1, with a chance above 0, and yet
has a gradient. How many heads are open on average, the L0 norm of the gates, has a closed form:

    P(z != 0) = sigmoid(ln alpha - beta ln(-gamma / zeta))

What a trained model answers with has no noise: z = min(1, max(0, sigmoid(ln alpha) (zeta - gamma) + gamma)).
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

BETA, GAMMA, ZETA = 0.33, -0.1, 1.1  # as Voita 2019 takes them
SPEED = 10.0  # ln alpha = SPEED times the parameter, see `log_alpha`
OPEN = 0.3  # the parameter of a new gate: ln alpha = 3, without noise exactly open, closed once in 45 draws

Openness = Float[Tensor, " heads"]


def new_gates(num_heads: int) -> nn.Parameter:
    """Gates to be learned, all of them open."""
    return nn.Parameter(torch.full((num_heads,), OPEN))


def log_alpha(openness: Openness) -> Openness:
    """What is learned, times ten.

    AdamW moves a number by about the learning rate a step, however steep the objective is. From open
    to closed, ln alpha has to fall from 3 to -2.4, which is far for weights and must not be for a gate.
    """
    return SPEED * openness


def drawn(openness: Openness, uniform: Openness | None = None) -> Openness:
    """Gates of one pass of training; `uniform` are the numbers u, else drawn by chance."""
    if uniform is None:
        uniform = torch.rand_like(openness)
    noise = torch.logit(uniform, eps=1e-6)
    return stretched(torch.sigmoid((noise + log_alpha(openness)) / BETA))


def settled(openness: Openness) -> Openness:
    """Gates without noise: those of a model that answers."""
    return stretched(torch.sigmoid(log_alpha(openness)))


def chance_open(openness: Openness) -> Openness:
    """P(z != 0) of each gate."""
    return torch.sigmoid(log_alpha(openness) - BETA * math.log(-GAMMA / ZETA))


def stretched(share: Openness) -> Openness:
    """From (0, 1) to (gamma, zeta), and cut at 0 and 1."""
    return (share * (ZETA - GAMMA) + GAMMA).clamp(0.0, 1.0)
