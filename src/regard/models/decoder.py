"""Anything that generates takes steps: `start`, `step`, a state that `select` can reorder; pointing, too."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Generic, TypeVar, final

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import Attention, Given, Memory, Padding
from regard.errors import DataError
from regard.layers import Cell
from regard.models.encoder import Encoded
from regard.models.readers import LOSS, Reader, summed_loss, summed_loss_of
from regard.settings.architecture import Visits

State = TypeVar("State")
Tree = TypeVar("Tree")

NEVER = -1e4  # the logit of a stop that comes too soon, while learning: finite, so that a loss is
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

    def __init__(self) -> None:
        super().__init__()
        LOSS.forms()  # imported now: a compiler would stop where a module is imported

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


# Pointing: the attention weights over the input are the output (Vinyals 2015; L81).


@final
@dataclass(frozen=True, eq=False)
class PointerState:
    """The cell's state, the places that can be pointed at, and those that were."""

    cell: tuple[Tensor, ...]
    memory: Memory
    places: Float[Tensor, "batch places width"]
    lengths: Int[Tensor, " batch"]
    pointed: Bool[Tensor, "batch places"]


@final
class Pointer(Decoder[PointerState]):
    """Place 0 is the stop sign; place j + 1 is input j. No place is pointed at twice.

    The input of a step is the state of the place pointed at last, so the output needs no vocabulary. One that
    `visits` all may stop only when nothing is left: its answers are permutations, such as tours.
    """

    begin = 0
    end = 0

    def __init__(
        self, cell: Cell, attention: Attention, source_width: int, *, visits: Visits = "some"
    ) -> None:
        super().__init__()
        self.cell, self.attention, self.visits = cell, attention, visits
        self.bridge = nn.Linear(source_width, cell.num_states * cell.width)
        self.stop = nn.Parameter(torch.randn(source_width) / math.sqrt(source_width))

    def loss(
        self,
        output: Tensor,
        targets: Int[Tensor, ...],
        smoothing: float = 0.0,  # noqa: ARG002
    ) -> Float[Tensor, ""]:
        """No smoothing: places already taken have probability 0, and must keep it."""
        loss = summed_loss(output, targets, 0.0)
        if self.visits == "all" and not self.training and not loss.isfinite():
            raise DataError(
                "an answer leaves items out, or points at one twice, and this model visits all",
                where="model.reader.visits",
                remedy='let it leave items out: model.reader.visits = "some"',
            )
        return loss

    def start(self, encoded: Encoded, capacity: int) -> PointerState:  # noqa: ARG002
        """Nothing pointed at yet."""
        batch, length = encoded.states.shape[:2]
        stop = self.stop.expand(batch, 1, -1)
        places = torch.cat([stop, encoded.states], 1)
        padding = None if encoded.padding is None else Padding(encoded.padding.lengths + 1)
        memory = self.attention.remember(places.unsqueeze(1), places.unsqueeze(1), padding)
        (summary,) = encoded.summaries(1)
        cell = torch.tanh(self.bridge(summary)).chunk(self.cell.num_states, -1)
        pointed = torch.zeros(batch, length + 1, dtype=torch.bool, device=places.device)
        full = torch.full((batch,), length, device=places.device)
        lengths = full if encoded.padding is None else encoded.padding.lengths
        return PointerState(tuple(cell), memory, memory.value.squeeze(1), lengths, pointed)

    def step(
        self, state: PointerState, tokens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch places"], PointerState]:
        """Read the place pointed at last; how strongly each place calls next."""
        pointed = state.pointed | (_one_hot(tokens, state.pointed.shape[1]) & (tokens > 0)[:, None])
        inputs = state.places[torch.arange(len(tokens), device=tokens.device), tokens]
        cell = self.cell.step(inputs, state.cell)
        logits = self._point(cell[0].unsqueeze(1), state, pointed.unsqueeze(1)).squeeze(1)
        return logits, replace(state, cell=cell, pointed=pointed)

    def forward(self, encoded: Encoded, inputs: Inputs) -> Logits:
        """Teacher forcing over the given places."""
        state = self.start(encoded, inputs.shape[1])
        index = inputs.unsqueeze(-1).expand(-1, -1, state.places.shape[-1])
        hidden = self.cell.run(state.places.gather(1, index), state.cell)
        taken = _one_hot(inputs, state.pointed.shape[1]) & (inputs > 0).unsqueeze(-1)
        pointed = taken.cumsum(1) > 0
        return self._point(hidden, state, pointed)

    def _point(
        self,
        hidden: Float[Tensor, "batch query width"],
        state: PointerState,
        pointed: Bool[Tensor, "batch query places"],
    ) -> Float[Tensor, "batch query places"]:
        """Nothing is pointed at twice, and who visits all does not stop before that is done.

        Both are a mask of the attention, so that its weights are what is answered. While learning, stopping
        too early is only very unlikely: a right answer that leaves items out has a loss.
        """
        early = pointed.sum(-1, keepdim=True) < state.lengths.view(-1, 1, 1)
        early = early if self.visits == "all" else torch.zeros_like(early)
        closed = pointed if self.training else torch.cat([early, pointed[..., 1:]], -1)
        free, memory = Given(~closed.unsqueeze(1)), state.memory
        mask = free if memory.mask is None else memory.mask & free
        logits = self.attention.point(hidden.unsqueeze(1), replace(memory, mask=mask)).squeeze(1)
        if not self.training:
            return logits
        stop = logits[..., :1].masked_fill(early, NEVER)
        return torch.cat([stop, logits[..., 1:]], -1)


def _one_hot(places: Tensor, count: int) -> Bool[Tensor, "... places"]:
    return F.one_hot(places, count).bool()
