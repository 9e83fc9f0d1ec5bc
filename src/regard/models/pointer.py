"""Pointing: the attention weights over the input are the output (Vinyals 2015; L81)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import Attention, Memory, Padding
from regard.layers import Cell
from regard.models.decoder import Decoder, Inputs, Logits
from regard.models.encoder import Encoded
from regard.models.loss import summed_loss


@final
@dataclass(frozen=True, eq=False)
class PointerState:
    """The cell's state, the places that can be pointed at, and those that were."""

    cell: tuple[Tensor, ...]
    memory: Memory
    places: Float[Tensor, "batch places width"]
    pointed: Bool[Tensor, "batch places"]


@final
class Pointer(Decoder[PointerState]):
    """Place 0 is the stop sign; place j + 1 is input j. No place is pointed at twice.

    The input of a step is the state of the place pointed at last, so the output needs no vocabulary.
    """

    begin = 0
    end = 0

    def __init__(self, cell: Cell, attention: Attention, source_width: int) -> None:
        super().__init__()
        self.cell, self.attention = cell, attention
        self.bridge = nn.Linear(source_width, cell.num_states * cell.width)
        self.stop = nn.Parameter(torch.randn(source_width) / math.sqrt(source_width))

    def loss(
        self,
        output: Tensor,
        targets: Int[Tensor, ...],
        smoothing: float = 0.0,  # noqa: ARG002
    ) -> Float[Tensor, ""]:
        """No smoothing: places already taken have probability 0, and must keep it."""
        return summed_loss(output, targets, 0.0)

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
        return PointerState(tuple(cell), memory, memory.value.squeeze(1), pointed)

    def step(
        self, state: PointerState, tokens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch places"], PointerState]:
        """Read the place pointed at last; how strongly each place calls next."""
        pointed = state.pointed | (_one_hot(tokens, state.pointed.shape[1]) & (tokens > 0)[:, None])
        inputs = state.places[torch.arange(len(tokens), device=tokens.device), tokens]
        cell = self.cell.step(inputs, state.cell)
        logits = self._point(cell[0].unsqueeze(1), state.memory).squeeze(1)
        after = PointerState(cell, state.memory, state.places, pointed)
        return logits.masked_fill(pointed, -torch.inf), after

    def forward(self, encoded: Encoded, inputs: Inputs) -> Logits:
        """Teacher forcing over the given places."""
        state = self.start(encoded, inputs.shape[1])
        index = inputs.unsqueeze(-1).expand(-1, -1, state.places.shape[-1])
        hidden = self.cell.run(state.places.gather(1, index), state.cell)
        taken = _one_hot(inputs, state.pointed.shape[1]) & (inputs > 0).unsqueeze(-1)
        pointed = taken.cumsum(1) > 0
        return self._point(hidden, state.memory).masked_fill(pointed, -torch.inf)

    def _point(self, hidden: Float[Tensor, "batch query width"], memory: Memory) -> Tensor:
        return self.attention.point(hidden.unsqueeze(1), memory).squeeze(1)


def _one_hot(places: Tensor, count: int) -> Bool[Tensor, "... places"]:
    return F.one_hot(places, count).bool()
