"""What being wrong costs: -log p of each target, with some of the mass spread over all symbols."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.seams import Seam

IGNORE = -100  # a target that is not judged: padding, or a word's second piece


class LossForm(ABC):
    """Works out a loss over a vocabulary otherwise than from logits that are all there at once."""

    @abstractmethod
    def takes(
        self,
        states: Float[Tensor, "*rows width"],
        output: nn.Linear,
        targets: Int[Tensor, "*rows"],
    ) -> bool:
        """Whether this case is known here, and had better be worked out here."""

    @abstractmethod
    def loss(
        self,
        states: Float[Tensor, "*rows width"],
        output: nn.Linear,
        targets: Int[Tensor, "*rows"],
        smoothing: float,
    ) -> Float[Tensor, ""]:
        """What `summed_loss` gives for the logits of these states."""


LOSS: Seam[LossForm] = Seam("loss", "loss")


def summed_loss(logits: Tensor, targets: Tensor, smoothing: float) -> Float[Tensor, ""]:
    """-log p of each target, with `smoothing` of the mass spread over all symbols (Szegedy 2016)."""
    logits = logits if logits.dtype == torch.float64 else logits.float()
    return F.cross_entropy(
        logits.flatten(0, -2),
        targets.flatten(),
        ignore_index=IGNORE,
        reduction="sum",
        label_smoothing=smoothing,
    )


def disagreement(
    one: Float[Tensor, "*rows symbols"],
    other: Float[Tensor, "*rows symbols"],
    targets: Int[Tensor, "*rows"],
) -> Float[Tensor, ""]:
    """KL(p || q) + KL(q || p) = sum (p - q)(log p - log q), over the targets that count."""
    p, q = (logits.to(_wide(logits)).log_softmax(-1) for logits in (one, other))
    apart = (p - q).masked_fill(p.isinf() | q.isinf(), 0.0)
    each = ((p.exp() - q.exp()) * apart).sum(-1)
    return each.masked_fill(targets == IGNORE, 0.0).sum()


def summed_loss_of(
    states: Float[Tensor, "*rows width"],
    output: nn.Linear,
    targets: Int[Tensor, "*rows"],
    smoothing: float,
) -> Float[Tensor, ""]:
    """The same from the states before the output layer."""
    for form in LOSS.forms():
        if form.takes(states, output, targets):
            return form.loss(states, output, targets, smoothing)
    return summed_loss(output(states), targets, smoothing)


def _wide(states: Tensor) -> torch.dtype:
    return torch.float64 if states.dtype == torch.float64 else torch.float32
