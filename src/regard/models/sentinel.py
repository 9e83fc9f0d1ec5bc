"""Pointer sentinel: each step points at an earlier word or leaves it to the vocabulary (Merity 2016; L83).

q = tanh(W h_t + b),  a = softmax([q . s, q . h_1, .., q . h_t]),  g = a_0, the share of the sentinel s
p(w) = g p_vocabulary(w) + sum of a_i over the last L positions i that hold w

There is no gate of its own: the sentinel takes part in the same softmax as the words, so a step that finds
nothing to point at gives its attention to the sentinel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import Attention, Dot, Gauge, Softmax
from regard.attention.attention import INPUTS, SENTINEL, TARGET, Site
from regard.attention.mask import Given
from regard.models.copying import mixture_loss
from regard.models.decoder import Decoder, Inputs, Logits
from regard.models.encoder import Encoded
from regard.models.rnn_decoder import RnnDecoder, RnnState

Now = Float[Tensor, "batch step width"]  # the states of some steps
Hidden = Float[Tensor, "batch read width"]  # those after every word that was read


@final
@dataclass(frozen=True, eq=False)
class SentinelState:
    """What the decoder keeps, the words that were read, and the hidden state after each of them."""

    inner: RnnState
    ids: Int[Tensor, "batch read"]
    hidden: Hidden


@final
class PointerSentinel(Decoder[SentinelState]):
    """A recurrent language model that can point at `window` earlier words; its output is log p of each word.

    h is the state that the output layer reads. The begin symbol is no word, and is never pointed at.
    """

    def __init__(self, decoder: RnnDecoder, *, window: int) -> None:
        super().__init__()
        self.decoder, self.window = decoder, window
        self.begin, self.end = decoder.begin, decoder.end
        width = decoder.output.in_features
        self.query = nn.Linear(width, width)
        self.sentinel = nn.Parameter(torch.randn(width) / math.sqrt(width))
        site = Site("pointer", TARGET, (SENTINEL, INPUTS))
        self.attention = Attention(Dot(), Softmax(), site=site)
        self.gate = Gauge("gate", TARGET)

    @property
    def vocabulary(self) -> int:
        """How many words there are."""
        return self.decoder.output.out_features

    def start(self, encoded: Encoded, capacity: int) -> SentinelState:
        """Nothing was read."""
        inner = self.decoder.start(encoded, capacity)
        nothing = inner.fed.unsqueeze(1)[:, :0]
        return SentinelState(inner, nothing[..., 0].long(), nothing)

    def step(
        self, state: SentinelState, tokens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocabulary"], SentinelState]:
        """One word in, log p of the next out."""
        word = self.decoder.embedding(tokens.unsqueeze(1)).squeeze(1)
        readout, inner = self.decoder.advance(state.inner, word)
        ids = torch.cat([state.ids, tokens.unsqueeze(1)], 1)
        hidden = torch.cat([state.hidden, readout.unsqueeze(1)], 1)
        mixed = self._mixture(hidden[:, -1:], hidden, ids)
        return mixed.squeeze(1), SentinelState(inner, ids, hidden)

    def forward(self, encoded: Encoded, inputs: Inputs) -> Logits:
        """Teacher forcing: log p after each of the given words."""
        hidden = self.decoder.hidden(encoded, inputs)
        return self._mixture(hidden, hidden, inputs)

    def loss(
        self, output: Tensor, targets: Int[Tensor, ...], smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """-log p of each target, by the mixture."""
        return mixture_loss(output, targets, smoothing, self.vocabulary)

    def _mixture(self, now: Now, hidden: Hidden, ids: Int[Tensor, "batch read"]) -> Logits:
        """log (g p_vocabulary + pointed), in single precision at least; `now` are the last of all states."""
        weights = self._point(now, hidden, ids)
        logits = self.decoder.output(now)
        wide = torch.promote_types(logits.dtype, torch.float32)
        weights = weights.to(wide)
        gate = self.gate(weights[..., 0])
        left = gate.clamp(min=torch.finfo(wide).tiny).log().unsqueeze(-1)
        generated = left + logits.to(wide).log_softmax(-1)
        place = ids.unsqueeze(1).expand(-1, now.shape[1], -1)
        pointed = torch.zeros_like(generated).scatter_add(-1, place, weights[..., 1:])
        # Most words are pointed at by nobody: their logarithm has no gradient, and is not asked for one.
        nowhere = pointed <= 0
        copied = pointed.masked_fill(nowhere, 1.0).log().masked_fill(nowhere, -torch.inf)
        return torch.logaddexp(generated, copied)

    def _point(
        self, now: Now, hidden: Hidden, ids: Int[Tensor, "batch read"]
    ) -> Float[Tensor, "batch step all"]:
        """The weight of the sentinel, then that of every word that was read."""
        places = torch.cat([self.sentinel.expand(len(hidden), 1, -1), hidden], 1).unsqueeze(1)
        memory = self.attention.remember(places, places, Given(self._open(now.shape[1], ids)))
        query = torch.tanh(self.query(now)).unsqueeze(1)
        return self.attention.read(query, memory).weights.squeeze(1)

    def _open(self, steps: int, ids: Int[Tensor, "batch read"]) -> Bool[Tensor, "batch 1 step all"]:
        """The sentinel is always open; of the words, the last `window`, up to the one just read."""
        read = torch.arange(ids.shape[1], device=ids.device)
        back = read[len(read) - steps :, None] - read
        near = (back >= 0) & (back < self.window)
        words = near & (ids != self.begin)[:, None, None]
        return torch.cat([torch.ones_like(words[..., :1]), words], -1)
