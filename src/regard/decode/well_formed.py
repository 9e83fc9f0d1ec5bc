"""A decoder that can only say trees: at each step only symbols that a well-formed whole can still follow.

Search never knows: it drives this as it drives any decoder. What cannot follow has probability 0, and what
can keeps its share of the rest, so the best hypothesis is the best tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.decode.hypothesis import NO_LIMIT
from regard.models import Decoder, Encoded
from regard.models.decoder import Inputs, Logits
from regard.text.trees import DEEPEST

MOST_OPENED = 6  # brackets in a row without a word between


@final
@dataclass(frozen=True, eq=False)
class Signs:
    """Which symbols open a bracket, which one closes it, and which one stands for a word."""

    opens: Bool[Tensor, " symbols"]
    word: int
    close: int
    end: int


@final
@dataclass(frozen=True, eq=False)
class Grown:
    """How far a tree has grown, one number a row; `room` is how many symbols may still come."""

    left: Int[Tensor, " batch"]  # words
    depth: Int[Tensor, " batch"]
    opened: Int[Tensor, " batch"]  # brackets in a row, since a word or a bracket that closed
    begun: Bool[Tensor, " batch"]
    room: Int[Tensor, " batch"]

    @classmethod
    def of(cls, words: Int[Tensor, " batch"], room: int) -> Grown:
        """Nothing yet."""
        zero = torch.zeros_like(words)
        return cls(words, zero, zero, zero.bool(), torch.full_like(words, room))

    def after(self, symbol: Int[Tensor, " batch"], signs: Signs) -> Grown:
        """One symbol more."""
        opens, word, close = signs.opens[symbol], symbol == signs.word, symbol == signs.close
        return Grown(
            self.left - word.long(),
            self.depth + opens.long() - close.long(),
            (self.opened + 1) * opens.long(),
            self.begun | opens,
            self.room - 1,
        )

    def allowed(self, signs: Signs) -> Bool[Tensor, "batch symbols"]:
        """What may come next.

        A word where one is left; a bracket that opens, where one is left, there is room to close it, and the
        tree can still be read with a tag above each word; a bracket that closes what is not empty, the last
        one only when no word is left; then the end. Of no words at all there is nothing to say.
        """
        some, inside = self.left > 0, self.depth > 0
        needed = self.left + self.depth + 2  # with one more bracket closed, and the end
        opens = some & (self.opened < MOST_OPENED) & (inside | ~self.begun)
        opens &= ((needed < self.room) & (self.depth < DEEPEST - 1)) | ~self.begun
        closes = inside & (self.opened == 0) & ((self.depth > 1) | ~some)
        allowed = opens.unsqueeze(1) & signs.opens
        allowed[:, signs.word] = some & inside
        allowed[:, signs.close] = closes
        allowed[:, signs.end] = (self.begun | ~some) & ~inside
        return allowed


@final
@dataclass(frozen=True, eq=False)
class _State:
    inner: Any
    grown: Grown


@final
class WellFormed(Decoder[_State]):
    """The decoder of a parser, kept to trees over as many words as each row has."""

    def __init__(self, inner: Decoder[Any], signs: Signs, words: Sequence[int]) -> None:
        super().__init__()
        self.inner, self.signs, self.words = inner, signs, tuple(words)
        self.begin, self.end, self.multiple = inner.begin, inner.end, inner.multiple

    def start(self, encoded: Encoded, capacity: int) -> _State:
        """Nothing grown yet."""
        words = torch.tensor(self.words, device=encoded.states.device)
        return _State(self.inner.start(encoded, capacity), Grown.of(words, capacity + 1))

    def step(
        self, state: _State, tokens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocabulary"], _State]:
        """The model's logits, and -inf for what no tree can continue with."""
        logits, inner = self.inner.step(state.inner, tokens)
        grown = state.grown.after(tokens, self.signs)
        return logits.masked_fill(~grown.allowed(self.signs), -torch.inf), _State(inner, grown)

    def forward(self, encoded: Encoded, inputs: Inputs) -> Logits:
        """The same for symbols that are given."""
        logits = self.inner(encoded, inputs)
        words = torch.tensor(self.words, device=inputs.device)
        return forced_to_trees(logits, inputs, self.signs, words, NO_LIMIT)


def forced_to_trees(
    logits: Logits, inputs: Inputs, signs: Signs, words: Int[Tensor, " batch"], most: int
) -> Logits:
    """Logits behind given symbols, -inf where no tree goes on: what a search of `most` steps would say."""
    grown = Grown.of(words, most + 1)
    steps = []
    for place in range(inputs.shape[1]):
        grown = grown.after(inputs[:, place], signs)
        steps.append(logits[:, place].masked_fill(~grown.allowed(signs), -torch.inf))
    return torch.stack(steps, 1)
