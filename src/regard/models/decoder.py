"""Anything that generates takes steps: `start`, `step`, and a state that `select` can reorder."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass, replace
from typing import Any, Generic, TypeVar

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Memory
from regard.models.encoder import Encoded
from regard.models.loss import summed_loss_of
from regard.models.readers import Reader

State = TypeVar("State")
Tree = TypeVar("Tree")

Inputs = Int[Tensor, "batch target"]
Logits = Float[Tensor, "batch target vocabulary"]


class Selectable(ABC):
    """A part of a state that knows how to reorder itself."""

    @abstractmethod
    def select(self, rows: Int[Tensor, " rows"]) -> Selectable:
        """These rows of the batch, in this order."""


class Decoder(Reader, Generic[State]):
    """Reads an encoded source and gives, symbol after symbol, scores for the next one.

    `begin` is the symbol before the first, `end` the one that stops. Batches come in multiples of `multiple`
    rows: a matrix product then gives a row the same bits whatever stands beside it. More hypotheses than
    `crowd` are not followed at once.
    """

    begin: int
    end: int
    multiple: int = 8
    crowd: int = sys.maxsize

    @abstractmethod
    def start(self, encoded: Encoded, capacity: int) -> State:
        """The state before the first symbol, with room for `capacity` symbols."""

    @abstractmethod
    def step(
        self, state: State, tokens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocabulary"], State]:
        """Read one symbol a row; the logits of the next, and the state after it."""

    @abstractmethod
    def forward(self, encoded: Encoded, inputs: Inputs) -> Logits:
        """Teacher forcing: the logits after each of the given symbols, as in training (L73)."""


class TokenDecoder(Decoder[State]):
    """A decoder over a fixed vocabulary, whose logits are a linear map of its hidden states.

    The two are apart so that a loss may take the map and the softmax piece by piece.
    """

    output: nn.Linear

    @abstractmethod
    def hidden(self, encoded: Encoded, inputs: Inputs) -> Float[Tensor, "batch target width"]:
        """Teacher forcing, up to the last hidden state."""

    def forward(self, encoded: Encoded, inputs: Inputs) -> Logits:
        """The logits after each of the given symbols."""
        return self.output(self.hidden(encoded, inputs))

    def loss_of_states(
        self, states: Tensor, targets: Int[Tensor, ...], smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """`loss` from the states before the output layer: over a large vocabulary no logits are kept."""
        if type(self).loss is not Reader.loss:  # a loss of its own needs the logits
            return self.loss(self.output(states), targets, smoothing)
        return summed_loss_of(states, self.output, targets, smoothing)


def select(tree: Tree, rows: Int[Tensor, " rows"]) -> Tree:
    """A state with these rows of the batch, in this order: tensors, memories and any nesting of them."""
    return _select(tree, rows)


def _select(tree: Any, rows: Tensor) -> Any:
    match tree:
        case Memory() | Selectable():
            return tree.select(rows)
        case Tensor():
            return tree.index_select(0, rows)
        case tuple():
            return tuple(_select(leaf, rows) for leaf in tree)
        case _ if is_dataclass(tree) and not isinstance(tree, type):
            chosen = {f.name: _select(getattr(tree, f.name), rows) for f in fields(tree)}
            return replace(tree, **chosen)
        case _:
            return tree


def output_layer(width: int, vocabulary: int, tied: nn.Embedding | None, bias: bool) -> nn.Linear:
    """Hidden state to logits; tied, it shares its weights with the embedding (Press 2017)."""
    layer = nn.Linear(width, vocabulary, bias=bias)
    if tied is not None:
        layer.weight = tied.weight
    else:
        nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer
