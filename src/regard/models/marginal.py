"""Hard attention summed exactly over all choices, for short sources (Wu 2018).

p(y_t) = sum_i a_ti p(y_t | position i was read),   a_t = softmax(scores of step t)

Here a choice changes nothing but its own word: the decoder looks after its new state and is not fed what it
read. So the choices of two steps are independent, and the product of these sums is the probability of the
whole answer, summed over every way to choose. The price is the output layer once a position of the source
instead of once a step.
"""

from __future__ import annotations

from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention import Attention, Memory
from regard.models.decoder import Decoder, Inputs, Logits
from regard.models.encoder import Encoded
from regard.models.rnn_decoder import RnnDecoder, RnnState


@final
class Marginal(Decoder[RnnState]):
    """A recurrent decoder whose output is log p, summed over the position that a step may have read."""

    def __init__(self, decoder: RnnDecoder) -> None:
        super().__init__()
        self.decoder = decoder
        self.begin, self.end = decoder.begin, decoder.end

    def start(self, encoded: Encoded, capacity: int) -> RnnState:
        """The decoder's own start."""
        return self.decoder.start(encoded, capacity)

    def step(
        self, state: RnnState, tokens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocabulary"], RnnState]:
        """One word in, log p of the next out."""
        word = self.decoder.embedding(tokens.unsqueeze(1)).squeeze(1)
        hidden, cells = self.decoder.move(state, word)
        mixed = self._mixture(hidden.unsqueeze(1), state.memory)
        return mixed.squeeze(1), RnnState(cells, state.memory, state.source, state.fed)

    def forward(self, encoded: Encoded, inputs: Inputs) -> Logits:
        """Teacher forcing: log p after each of the given symbols."""
        state = self.decoder.start(encoded, inputs.shape[1])
        hidden = self.decoder.run(state, self.decoder.embedding(inputs))
        return self._mixture(hidden, state.memory)

    def _mixture(self, hidden: Float[Tensor, "batch step width"], memory: object) -> Logits:
        """log sum_i a_i p_i, where p_i is what the output layer says after position i was read."""
        assert isinstance(memory, Memory)
        assert isinstance(self.decoder.attention, Attention)
        read = self.decoder.attention.read(hidden.unsqueeze(1), memory)
        log_chances = _log(_somewhere(read.weights.squeeze(1)))
        values = memory.value.squeeze(1)
        values = F.pad(values, (0, 0, 0, log_chances.shape[-1] - values.shape[1]))
        logits = self.decoder.output(self.decoder.readouts(hidden, values))
        wide = torch.promote_types(logits.dtype, torch.float32)
        each = logits.to(wide).log_softmax(-1)  # (batch, step, position, vocabulary)
        return (log_chances.to(wide).unsqueeze(-1) + each).logsumexp(2)


def _somewhere(weights: Float[Tensor, "batch step source"]) -> Float[Tensor, "batch step place"]:
    """Who may see nothing reads a context of zeros, which is what the void at position 0 holds."""
    weights = weights if weights.shape[-1] else F.pad(weights, (0, 1))
    nowhere = weights.sum(-1, keepdim=True) == 0
    first = F.one_hot(nowhere.new_zeros(1, dtype=torch.long), weights.shape[-1]).to(weights.dtype)
    return torch.where(nowhere, first, weights)


def _log(weights: Tensor) -> Tensor:
    return torch.where(weights > 0, weights, 1.0).log().masked_fill(weights <= 0, -torch.inf)
