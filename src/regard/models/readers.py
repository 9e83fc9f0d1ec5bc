"""Readers that give one answer a position, or one a sequence (L78, L79)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Attention
from regard.models.encoder import Encoded, mean_state
from regard.models.loss import summed_loss


class Reader(nn.Module, ABC):
    """What turns the states of sources into an answer; it owns its loss."""

    def loss(
        self, output: Tensor, targets: Int[Tensor, ...], smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """What `forward` gave, against the right answer: by default logits and -log softmax, summed (L71)."""
        return summed_loss(output, targets, smoothing)


@final
class Tagger(Reader):
    """One label a word: a linear map of each state (L78)."""

    def __init__(self, width: int, labels: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(width, labels)

    def forward(self, encoded: Encoded) -> Float[Tensor, "batch source labels"]:
        """The logits of each word's label."""
        return self.output(self.dropout(encoded.states))


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
        query = self.query.expand(len(states), 1, 1, -1)
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
