"""Readers that give one answer a position, or one a sequence (L78, L79), and the loss: -log p(target)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Attention
from regard.layers.sublayer import LayerNorm, activate
from regard.models.encoder import Encoded, mean_state
from regard.seams import Seam
from regard.settings.architecture import Activation


class Reader(nn.Module, ABC):
    """What turns the states of sources into an answer; it owns its loss."""

    def loss(
        self, output: Tensor, targets: Int[Tensor, ...], smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """What `forward` gave, against the right answer: by default logits and -log softmax, summed (L71)."""
        return summed_loss(output, targets, smoothing)


@final
class Transform(nn.Module):
    """norm(activation(W x + b)): what stands before the output where words are masked (Devlin 2019)."""

    def __init__(self, width: int, activation: Activation, eps: float) -> None:
        super().__init__()
        self.activation = activation
        self.inner = nn.Linear(width, width)
        self.norm = LayerNorm(width, eps=eps)

    def forward(self, states: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows width"]:
        """Each state on its own."""
        return self.norm(activate(self.inner(states), self.activation))


@final
class Tagger(Reader):
    """One label a word: a linear map of each state (L78), or of what `transform` makes of it."""

    def __init__(
        self, width: int, labels: int, dropout: float = 0.0, transform: Transform | None = None
    ) -> None:
        super().__init__()
        self.transform = transform
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(width, labels)

    def forward(self, encoded: Encoded) -> Float[Tensor, "batch source labels"]:
        """The logits of each word's label."""
        states = encoded.states if self.transform is None else self.transform(encoded.states)
        return self.output(self.dropout(states))


class Pool(nn.Module, ABC):
    """A sequence of states as one vector."""

    @abstractmethod
    def forward(self, encoded: Encoded) -> Float[Tensor, "batch width"]:
        """The one vector."""


@final
class MeanPool(Pool):
    """The mean of the real states."""

    def forward(self, encoded: Encoded) -> Float[Tensor, "batch width"]:
        """Sum over length."""
        return mean_state(encoded.states, encoded.padding)


@final
class FirstPool(Pool):
    """The state of the first token, which is free to gather what matters (Devlin 2019)."""

    def forward(self, encoded: Encoded) -> Float[Tensor, "batch width"]:
        """Position 0; zeros where there is none."""
        first = encoded.states[:, :1]
        if encoded.padding is not None:
            first = first.masked_fill(encoded.padding.unseen(1).unsqueeze(-1), 0.0)
        return first.sum(1)


@final
class AttentionPool(Pool):
    """One learned query reads all states: the weights show which words decided (Yang 2016; L90)."""

    def __init__(self, width: int, attention: Attention) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(width) / math.sqrt(width))
        self.attention = attention

    def forward(self, encoded: Encoded) -> Float[Tensor, "batch width"]:
        """The context of that query."""
        states = encoded.states.unsqueeze(1)  # one head
        memory = self.attention.remember(states, states, encoded.padding)
        query = self.query.expand(states.shape[0], 1, 1, -1)
        return self.attention(query, memory).flatten(1)


@final
class Classifier(Reader):
    """One label a sequence (L79)."""

    def __init__(self, pool: Pool, width: int, labels: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.pool = pool
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(width, labels)

    def forward(self, encoded: Encoded) -> Float[Tensor, "batch labels"]:
        """The logits of the sequence's label."""
        return self.output(self.dropout(self.pool(encoded)))


# What being wrong costs: -log p of each target, with some of the mass spread over all symbols.

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


LOSS: Seam[LossForm] = Seam("loss", "vocabulary_loss")


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


def losses(logits: Tensor, targets: Tensor, smoothing: float) -> Float[Tensor, "*rows"]:
    """The same for each target by itself; 0 where none is judged."""
    logits = logits.to(_wide(logits))
    each = F.cross_entropy(
        logits.flatten(0, -2),
        targets.flatten(),
        ignore_index=IGNORE,
        reduction="none",
        label_smoothing=smoothing,
    )
    return each.view(targets.shape)


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
