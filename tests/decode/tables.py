"""A decoder without weights, and search by hand, to check search against.

The source is the decoder: row b of `Encoded.states` is a table of logits, one line for each pair of last
symbols. Thousands of random models cost nothing, and what they should answer can be worked out in the open.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode import DecodeSettings, Hypothesis
from regard.models import Decoder, Encoded

BEGIN, END = 1, 0


@final
@dataclass(frozen=True, eq=False)
class TableState:
    """The table, and the line that the last two symbols point at."""

    table: Float[Tensor, "batch lines vocabulary"]
    line: Int[Tensor, " batch"]
    room: int


@final
class TableDecoder(Decoder[TableState]):
    """Looks up what comes after the last two symbols."""

    begin, end = BEGIN, END

    def start(self, encoded: Encoded, capacity: int) -> TableState:
        line = torch.full((len(encoded.states),), BEGIN, device=encoded.states.device)
        return TableState(encoded.states, line, capacity)

    def step(
        self, state: TableState, tokens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocabulary"], TableState]:
        assert state.room > 0, "a step past the capacity that was asked for"
        lines, vocabulary = state.table.shape[1:]
        line = (state.line * vocabulary + tokens) % lines
        logits = state.table[torch.arange(len(tokens), device=tokens.device), line]
        return logits, TableState(state.table, line, state.room - 1)

    def forward(
        self, encoded: Encoded, inputs: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        state, found = self.start(encoded, inputs.shape[1]), []
        for tokens in inputs.unbind(1):
            logits, state = self.step(state, tokens)
            found.append(logits)
        return torch.stack(found, 1)


DECODER = TableDecoder()


def tables(
    rows: int, vocabulary: int, seed: int, *, spread: float = 2.0, ties: bool = False
) -> Encoded:
    """Random tables; with `ties`, of so few different logits that candidates are often exactly equal."""
    chance = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, vocabulary**2, vocabulary, generator=chance) * spread
    if ties:
        logits = logits.round().clamp(-1, 1).sort(-1).values.roll(seed % vocabulary, -1)
    return Encoded(logits)


def row_of(encoded: Encoded, row: int) -> Encoded:
    return Encoded(encoded.states[row : row + 1])


@final
class ByHand:
    """One row's table as plain numbers: float32 log-probabilities, looked up by what was said so far."""

    def __init__(
        self, encoded: Encoded, settings: DecodeSettings, prefix: Sequence[int] = ()
    ) -> None:
        (table,) = encoded.states.float().log_softmax(-1)
        self.lines: list[list[float]] = table.tolist()
        self.vocabulary = table.shape[1]
        self.settings, self.prefix = settings, tuple(prefix)
        self.limit = settings.max_length + len(self.prefix)

    def next(self, said: tuple[int, ...]) -> Iterator[tuple[int, float]]:
        """Each symbol that may follow, with its log-probability."""
        if len(said) < len(self.prefix):
            yield self.prefix[len(said)], 0.0
            return
        before, last = (BEGIN, BEGIN, *said)[-2:]
        line = self.lines[before * self.vocabulary + last]
        known = {token: value for token, value in enumerate(line) if value > -math.inf}
        if len(said) - len(self.prefix) < self.settings.min_length and len(known) > 1:
            known.pop(END, None)
        yield from known.items()

    def is_over(self, said: tuple[int, ...]) -> bool:
        found = len(said) > len(self.prefix)
        return len(said) >= self.limit or (found and said[-1] == END)

    def score(self, said: tuple[int, ...], total: float) -> float:
        """What the penalties mean: the found symbols alone count, the end with them."""
        length = max(len(said) - len(self.prefix), 1)
        match self.settings.penalty:
            case "none":
                return total
            case "average":
                return total / length**self.settings.alpha
            case "gnmt":
                return total / ((5 + length) / 6) ** self.settings.alpha

    def everything(self) -> list[tuple[float, tuple[int, ...]]]:
        """Every output there is, best first."""
        found, open_paths = [], [((), 0.0)]
        while open_paths:
            said, total = open_paths.pop()
            for token, value in self.next(said):
                longer, sum_ = (*said, token), total + value
                if self.is_over(longer):
                    found.append((self.score(longer, sum_), longer))
                else:
                    open_paths.append((longer, sum_))
        return sorted(found, key=lambda pair: -pair[0])

    def beam(self) -> list[tuple[float, tuple[int, ...]]]:
        """Beam search in the open, to the very end: what ends keeps its place; float32, as the beam adds."""
        live: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
        done: list[tuple[float, tuple[int, ...]]] = []
        places = self.settings.beam
        while live and places:
            candidates = [
                (-_float32(total + value), slot, token)
                for slot, (said, total) in enumerate(live)
                for token, value in self.next(said)
            ]
            after = []
            for minus, slot, token in sorted(candidates)[:places]:
                said = (*live[slot][0], token)
                if self.is_over(said):
                    done.append((self.score(said, -minus), said))
                else:
                    after.append((said, -minus))
            places = self.settings.beam - len(done)
            live = after
        return sorted(done, key=lambda pair: -pair[0])[: self.settings.top_beams]


def said_by(hypothesis: Hypothesis) -> tuple[int, ...]:
    """All symbols of a hypothesis, its end included."""
    return (*hypothesis.tokens, END) if hypothesis.finish == "end" else hypothesis.tokens


def _float32(number: float) -> float:
    return float(np.float32(number))
