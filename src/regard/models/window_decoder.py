"""A feed-forward language model over its last words, which reads the source by attention (Rush 2015; L84).

p(y | x, y_c) = softmax(V h + W enc(x, y_c)),  h = tanh(U [E y_1; ..; E y_C]),  over the last C words y_c
enc(x, y_c) = sum_j a_j mean(x_j-Q .. x_j+Q),  a = softmax_j(x_j . P [G y_1; ..; G y_C])

The paper calls it ABS, attention-based summarisation. There is no recurrence: a step knows the last C words
and nothing before them. Without a source it is the neural language model of Bengio 2003.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Attention, Memory, Padding
from regard.layers import Embedding
from regard.models.decoder import Inputs, TokenDecoder
from regard.models.encoder import Encoded

Words = Int[Tensor, "batch step window"]  # the last words of each step, the newest last


@final
@dataclass(frozen=True, eq=False)
class WindowState:
    """The last words, and what can be read."""

    words: Int[Tensor, "batch window"]
    memory: Memory | None


@final
class WindowDecoder(TokenDecoder[WindowState]):
    """[h; enc] of every step at once; before the first word the window is full of begin symbols.

    `embedding` is the paper's E, `asking` its G; F belongs to the encoder. At the ends of a source the mean
    is over the neighbours that are there.
    """

    def __init__(
        self,
        embedding: Embedding,
        output: nn.Linear,
        *,
        asking: Embedding | None,
        attention: Attention | None,
        width: int,
        window: int,
        smooth: int = 0,
        dropout: float = 0.0,
        begin: int,
        end: int,
    ) -> None:
        super().__init__()
        self.embedding, self.asking, self.output = embedding, asking, output
        self.attention, self.window, self.smooth = attention, window, smooth
        self.begin, self.end = begin, end
        self.inner = nn.Linear(window * embedding.table.embedding_dim, width)
        self.dropout = nn.Dropout(dropout)

    def start(self, encoded: Encoded, capacity: int) -> WindowState:  # noqa: ARG002
        """Nothing was said."""
        states = encoded.states
        shape = (len(states), self.window)
        words = torch.full(shape, self.begin, dtype=torch.long, device=states.device)
        if self.attention is None:
            return WindowState(words, None)
        keys, values = states.unsqueeze(1), smoothed(states, encoded.padding, self.smooth)
        memory = self.attention.remember(keys, values.unsqueeze(1), encoded.padding)
        return WindowState(words, memory)

    def step(
        self, state: WindowState, tokens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocabulary"], WindowState]:
        """The new word pushes the oldest one out."""
        words = torch.cat([state.words[:, 1:], tokens.unsqueeze(1)], 1)
        hidden = self._of(words.unsqueeze(1), state.memory).squeeze(1)
        return self.output(hidden), replace(state, words=words)

    def hidden(self, encoded: Encoded, inputs: Inputs) -> Float[Tensor, "batch target width"]:
        """No step waits for the one before."""
        state = self.start(encoded, inputs.shape[1])
        row = torch.cat([state.words[:, 1:], inputs], 1)
        return self._of(row.unfold(1, self.window, 1), state.memory)

    def _of(self, words: Words, memory: Memory | None) -> Float[Tensor, "batch step width"]:
        """[h; enc] of each window."""
        hidden = self.dropout(torch.tanh(self.inner(self._side_by_side(self.embedding, words))))
        if self.attention is None:
            return hidden
        assert memory is not None
        assert self.asking is not None
        query = self._side_by_side(self.asking, words).unsqueeze(1)  # one head
        read = self.attention(query, memory).squeeze(1)
        return torch.cat([hidden, self.dropout(read)], -1)

    def _side_by_side(self, table: Embedding, words: Words) -> Float[Tensor, "batch step all"]:
        return table(words.flatten(1)).unflatten(1, words.shape[1:]).flatten(2)


def smoothed(
    states: Float[Tensor, "batch source width"], padding: Padding | None, reach: int
) -> Float[Tensor, "batch source width"]:
    """Each state as the mean of itself and its real neighbours, `reach` to each side."""
    if not reach or not states.shape[1]:
        return states
    real = torch.ones_like(states[..., :1])
    if padding is not None:
        void = padding.unseen(states.shape[1]).unsqueeze(-1)
        states, real = states.masked_fill(void, 0.0), real.masked_fill(void, 0.0)
    count = _sums(real, reach).clamp(min=1.0)
    return _sums(states, reach) / count


def _sums(states: Tensor, reach: int) -> Tensor:
    """The sum over each window of neighbours; nothing lies beyond the ends."""
    wide, length = F.pad(states, (0, 0, reach, reach)), states.shape[1]
    return torch.stack([wide[:, n : n + length] for n in range(2 * reach + 1)]).sum(0)
