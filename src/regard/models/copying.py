"""Pointer-generator: each step generates a word or copies one from the source (See 2017; L82).

p(w) = p_gen p_vocabulary(w) + (1 - p_gen) sum of a_i over source positions i that hold w

Words of the source that no vocabulary knows have numbers behind it: position i's own is `vocabulary + i`, and
all positions that hold the same unknown word share the number of the first. So a name that was never seen can
be said, letter by letter as it was typed, because it is pointed at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Attention, Gauge, Memory
from regard.attention.attention import TARGET
from regard.models.decoder import Decoder, Inputs, Logits
from regard.models.encoder import Encoded
from regard.models.readers import IGNORE
from regard.models.rnn_decoder import RnnDecoder, RnnState
from regard.models.transformer_decoder import TransformerDecoder, TransformerState


@final
@dataclass(frozen=True, eq=False)
class CopyState:
    """What the decoder keeps, the number of the word at each source position, and what is copied from."""

    inner: RnnState | TransformerState
    ids: Int[Tensor, "batch source"]
    memory: Memory | None


@final
@dataclass(frozen=True, eq=False)
class _Steps:
    """What some steps came to: enough to mix generating and copying."""

    readout: Float[Tensor, "batch step width"]
    gate: Float[Tensor, "batch step all"]
    weights: Float[Tensor, "batch step source"]


@final
class Copying(Decoder[CopyState]):
    """A decoder that can also copy; its output is log p over the vocabulary and every source position.

    A recurrent decoder copies by its own attention. A Transformer, which has many heads, has one attention
    more, which reads the source by the last hidden state: `copying`.
    """

    def __init__(
        self,
        decoder: RnnDecoder | TransformerDecoder,
        *,
        source_width: int,
        copying: Attention | None = None,
    ) -> None:
        super().__init__()
        self.decoder, self.attention = decoder, copying
        self.begin, self.end = decoder.begin, decoder.end
        width = decoder.embedding.table.embedding_dim
        hidden = decoder.width if isinstance(decoder, RnnDecoder) else width
        if isinstance(decoder, RnnDecoder):
            decoder.shows_weights = True
        else:
            self.query, self.key = nn.Linear(hidden, width), nn.Linear(source_width, width)
        self.gate = nn.Linear(source_width + hidden + width, 1)
        self.p_gen = Gauge("p_gen", TARGET)

    @property
    def vocabulary(self) -> int:
        """How many words can be generated."""
        return self.decoder.output.out_features

    def start(self, encoded: Encoded, capacity: int) -> CopyState:
        """The decoder's own start."""
        assert encoded.ids is not None, "what is copied from is a text"
        inner = self.decoder.start(encoded, capacity)
        return CopyState(inner, encoded.ids, self._memory(encoded))

    def step(
        self, state: CopyState, tokens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocabulary"], CopyState]:
        """One word in, log p of the next out."""
        word = self.decoder.embedding(tokens.unsqueeze(1), _position(state)).squeeze(1)
        if isinstance(self.decoder, RnnDecoder):
            assert isinstance(state.inner, RnnState)
            readout, after = self.decoder.advance(state.inner, word)
            mixed = self._mixture(self._of_rnn([(word, readout, after)]), state.ids)
            return mixed.squeeze(1), replace(state, inner=after)
        assert isinstance(state.inner, TransformerState)
        hidden, later = self.decoder.advance(state.inner, tokens)
        steps = self._of_transformer(hidden, word.unsqueeze(1), state.memory)
        return self._mixture(steps, state.ids).squeeze(1), replace(state, inner=later)

    def forward(self, encoded: Encoded, inputs: Inputs) -> Logits:
        """Teacher forcing: log p after each of the given symbols."""
        assert encoded.ids is not None, "what is copied from is a text"
        words = self.decoder.embedding(inputs)
        if isinstance(self.decoder, TransformerDecoder):
            hidden = self.decoder.hidden(encoded, inputs)
            steps = self._of_transformer(hidden, words, self._memory(encoded))
            return self._mixture(steps, encoded.ids)
        state, taken = self.decoder.start(encoded, inputs.shape[1]), []
        for word in words.unbind(1):
            readout, state = self.decoder.advance(state, word)
            taken.append((word, readout, state))
        return self._mixture(self._of_rnn(taken), encoded.ids)

    def loss(
        self, output: Tensor, targets: Int[Tensor, ...], smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """-log p of each target; smoothing spreads some of the mass over the words of the vocabulary."""
        return mixture_loss(output, targets, smoothing, self.vocabulary)

    def _memory(self, encoded: Encoded) -> Memory | None:
        if self.attention is None:
            return None
        states = encoded.states.unsqueeze(1)
        return self.attention.remember(self.key(states), states, encoded.padding)

    def _of_rnn(self, taken: list[tuple[Tensor, Tensor, RnnState]]) -> _Steps:
        """From each step's word, readout and state after it: context and weights are its attention's."""
        gates = [
            torch.cat([state.looked[0], state.cells[-1][0], word], -1)
            for word, _, state in taken
            if state.looked is not None
        ]
        weights = [state.looked[1] for _, _, state in taken if state.looked is not None]
        readouts = torch.stack([readout for _, readout, _ in taken], 1)
        return _Steps(readouts, torch.stack(gates, 1), torch.stack(weights, 1))

    def _of_transformer(self, hidden: Tensor, words: Tensor, memory: Memory | None) -> _Steps:
        assert self.attention is not None
        assert memory is not None
        read = self.attention.read(self.query(hidden).unsqueeze(1), memory)
        gate = torch.cat([read.context.squeeze(1), hidden, words], -1)
        return _Steps(hidden, gate, read.weights.squeeze(1))

    def _mixture(self, steps: _Steps, ids: Int[Tensor, "batch source"]) -> Logits:
        """log (p_gen p_vocabulary + (1 - p_gen) copied), in single precision at least.

        Where nothing can be copied, as from an empty source, all of it is generated.
        """
        logits = self.decoder.output(steps.readout)
        wide = torch.promote_types(logits.dtype, torch.float32)
        gate = self.gate(steps.gate).to(wide).squeeze(-1)
        p_gen = self.p_gen(torch.sigmoid(gate))
        weights = steps.weights.to(wide)
        left = (1 - weights.sum(-1)).clamp(min=0)
        share = p_gen + (1 - p_gen) * left
        generated = F.pad(share.unsqueeze(-1) * logits.to(wide).softmax(-1), (0, ids.shape[1]))
        copied = (1 - p_gen).unsqueeze(-1) * weights
        place = ids.unsqueeze(1).expand(-1, copied.shape[1], -1)
        mixed = generated.scatter_add(-1, place, copied)
        # A word that is neither known nor in the source has probability 0, and no gradient.
        tiny = torch.finfo(mixed.dtype).tiny
        known = torch.where(mixed > 0, mixed, torch.ones_like(mixed)).clamp(min=tiny).log()
        return known.masked_fill(mixed <= 0, -torch.inf)


def mixture_loss(
    output: Tensor, targets: Int[Tensor, ...], smoothing: float, vocabulary: int
) -> Float[Tensor, ""]:
    """The loss of an output that is log p itself, summed over the targets that are judged."""
    judged = targets != IGNORE
    own = output.gather(-1, targets.masked_fill(~judged, 0).unsqueeze(-1)).squeeze(-1)
    losses = -own
    if smoothing:
        every = -output[..., :vocabulary].mean(-1)
        losses = (1 - smoothing) * losses + smoothing * every
    return losses[judged].sum()


def _position(state: CopyState) -> int:
    return state.inner.position if isinstance(state.inner, TransformerState) else 0
