"""Recurrent decoders: without attention (L11), and with it (L12, L13), for any score and any normaliser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Attention, Memory
from regard.layers import Cell, Embedding, Memories, SeveralHeads, Stack
from regard.models.decoder import Inputs, TokenDecoder
from regard.models.encoder import Encoded
from regard.settings.architecture import Looks


@final
@dataclass(frozen=True, eq=False)
class RnnState:
    """Each layer's state, what can be read, and what the last step passes on to the next.

    The memory carries what earlier steps read of each source position, where the score looks at that.
    """

    cells: tuple[tuple[Tensor, ...], ...]
    memory: Memory | Memories | None
    source: Float[Tensor, "batch source_width"]
    fed: Float[Tensor, "batch width"]
    # What the last step read, and the weights it read with, for those who copy by them.
    looked: tuple[Float[Tensor, "batch source_width"], Float[Tensor, "batch source"]] | None = None


Advance = Callable[[RnnState, Tensor], tuple[Tensor, RnnState]]


@final
class RnnDecoder(TokenDecoder[RnnState]):
    """One step (L13): new hidden state h; context c from the source; feed-forward over [h; c]; word.

    `looks` says when it attends: "after" the new hidden state (Luong 2015, the lecture's order), or
    "before" it, with the context as the cell's input (Bahdanau 2015). `input_feeding` hands the last
    readout, or without attention the source summary, to the next step's input.
    """

    def __init__(
        self,
        embedding: Embedding,
        cells: Stack[Cell],
        output: nn.Linear,
        *,
        attention: Attention | SeveralHeads | None,
        source_width: int,
        looks: Looks = "after",
        input_feeding: bool = False,
        dropout: float = 0.0,
        begin: int,
        end: int,
    ) -> None:
        super().__init__()
        self.embedding, self.cells, self.output = embedding, cells, output
        self.attention, self.looks, self.input_feeding = attention, looks, input_feeding
        self.begin, self.end = begin, end
        self.width = next(iter(cells)).width
        self.bridge = nn.ModuleList(
            nn.Linear(source_width, cell.num_states * self.width) for cell in cells
        )
        context = self.width if isinstance(attention, SeveralHeads) else source_width
        read = self.width + (context if attention is not None else 0)
        self.readout = nn.Linear(read, output.in_features)
        self.dropout = nn.Dropout(dropout)
        self.shows_weights = False  # whether a state holds what its step looked at

    @property
    def extra(self) -> Literal["none", "source", "readout"]:
        """What stands beside the embedded word in the cell's input."""
        if self.attention is not None and self.looks == "before":
            return "source"
        if not self.input_feeding:
            return "none"
        return "source" if self.attention is None else "readout"

    @property
    def is_stepwise(self) -> bool:
        """Whether a step waits for the one before, so that no kernel can run them all."""
        if isinstance(self.attention, Attention) and self.attention.score.sees:
            return True
        if not all(cell.is_fused for cell in self.cells):
            return True
        return self.extra == "readout" or (self.extra == "source" and self.attention is not None)

    def compile_steps(self) -> None:
        """From now on a step is one compiled function: its many small operations become few."""
        self.advance = torch.compile(self.advance, dynamic=True)  # type: ignore[method-assign]

    @contextmanager
    def stepping_by(self, advance: Advance) -> Iterator[None]:
        """Steps are taken by another function for a while: `advance`, compiled."""
        self.advance = advance  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            del self.advance

    def start(self, encoded: Encoded, capacity: int) -> RnnState:  # noqa: ARG002
        """The first hidden state of each layer is a bridge from the encoder's last one."""
        summaries = encoded.summaries(len(self.cells))
        parts = [
            cell.begin(torch.tanh(bridge(summary)).chunk(cell.num_states, -1))
            for bridge, summary, cell in zip(self.bridge, summaries, self.cells, strict=True)
        ]
        memory: Memory | Memories | None = None
        if isinstance(self.attention, SeveralHeads):
            several = {name: part.states for name, part in encoded.parts.items()}
            masks = {name: part.padding for name, part in encoded.parts.items()}
            memory = self.attention.remember(several, masks)
        elif self.attention is not None:
            states = encoded.states.unsqueeze(1)  # one head
            memory = self.attention.remember(states, states, encoded.padding)
        fed = encoded.states.new_zeros(len(encoded.states), self.readout.out_features)
        return RnnState(tuple(map(tuple, parts)), memory, summaries[-1], fed)

    def step(
        self, state: RnnState, tokens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch vocabulary"], RnnState]:
        """One word in, the next word's logits out."""
        hidden, state = self.advance(state, self.embedding(tokens.unsqueeze(1)).squeeze(1))
        return self.output(hidden), state

    def hidden(self, encoded: Encoded, inputs: Inputs) -> Float[Tensor, "batch target width"]:
        """All steps at once where no step waits for the one before; else one by one."""
        state = self.start(encoded, inputs.shape[1])
        words = self.embedding(inputs)
        if not self.is_stepwise:
            return self._all_at_once(state, words)
        outputs = []
        for word in words.unbind(1):
            output, state = self.advance(state, word)
            outputs.append(output)
        return torch.stack(outputs, 1)

    def advance(self, state: RnnState, word: Tensor) -> tuple[Tensor, RnnState]:
        """The readout and the state after one embedded word."""
        inputs, context, memory = word, None, state.memory
        looked: tuple[Tensor, Tensor] | None = None
        if self.attention is not None and self.looks == "before":
            context, memory, looked = self._look(state.cells[-1][0], memory)
            inputs = torch.cat([word, context], -1)
        elif self.extra == "source":
            inputs = torch.cat([word, state.source], -1)
        elif self.extra == "readout":
            inputs = torch.cat([word, state.fed], -1)
        inputs, cells = self.move(state, inputs)
        if self.attention is not None and context is None:
            context, memory, looked = self._look(inputs, memory)
        fed = self._readout(inputs, context)
        return fed, RnnState(cells, memory, state.source, fed, looked)

    def move(
        self, state: RnnState, inputs: Tensor
    ) -> tuple[Tensor, tuple[tuple[Tensor, ...], ...]]:
        """One step of all cells, nothing read: the new hidden state, and the states of each layer."""
        cells = []
        for number, (cell, before) in enumerate(zip(self.cells, state.cells, strict=True)):
            after = cell.step(inputs if number == 0 else self.dropout(inputs), before)
            cells.append(after)
            inputs = after[0]
        return inputs, tuple(cells)

    def _look(
        self, hidden: Float[Tensor, "batch width"], memory: Memory | Memories | None
    ) -> tuple[Tensor, Memory | Memories | None, tuple[Tensor, Tensor] | None]:
        """What one step reads, the memory as the next step finds it, and the weights if they are wanted."""
        own = self.attention
        if isinstance(own, Attention) and (self.shows_weights or own.score.sees):
            assert isinstance(memory, Memory)
            read = own.read(hidden[:, None, None], memory)
            context = read.context.flatten(1)
            looked = (context, read.weights.flatten(1)) if self.shows_weights else None
            return context, read.memory, looked
        return self._read(hidden.unsqueeze(1), memory).squeeze(1), memory, None

    def _all_at_once(self, state: RnnState, words: Tensor) -> Tensor:
        if self.extra == "source":
            source = state.source.unsqueeze(1).expand(-1, words.shape[1], -1)
            words = torch.cat([words, source], -1)
        words = self.run(state, words)
        context = None if self.attention is None else self._read(words, state.memory)
        return self._readout(words, context)

    def run(
        self, state: RnnState, inputs: Float[Tensor, "batch step width"]
    ) -> Float[Tensor, "batch step state"]:
        """All steps of all cells, nothing read: the hidden states."""
        for number, (cell, before) in enumerate(zip(self.cells, state.cells, strict=True)):
            inputs = cell.run(inputs if number == 0 else self.dropout(inputs), before)
        return inputs

    def _read(
        self, hidden: Float[Tensor, "batch query width"], memory: Memory | Memories | None
    ) -> Tensor:
        """The context c of each hidden state: one head, one or more queries."""
        if isinstance(memory, Memories):
            assert isinstance(self.attention, SeveralHeads)
            return self.attention(hidden, memory)
        assert isinstance(self.attention, Attention)
        assert memory is not None
        return self.attention(hidden.unsqueeze(1), memory).squeeze(1)

    def _readout(self, hidden: Tensor, context: Tensor | None) -> Tensor:
        both = hidden if context is None else torch.cat([hidden, context], -1)
        return self.dropout(torch.tanh(self.readout(both)))

    def readouts(
        self,
        hidden: Float[Tensor, "batch step width"],
        values: Float[Tensor, "batch source source_width"],
    ) -> Float[Tensor, "batch step source width"]:
        """What each step would make of each position, had it read that one: W [h; v] = W_h h + W_v v."""
        of_hidden, of_value = self.readout.weight.split([self.width, values.shape[-1]], 1)
        own = F.linear(hidden, of_hidden, self.readout.bias).unsqueeze(2)
        return self.dropout(torch.tanh(own + F.linear(values, of_value).unsqueeze(1)))
