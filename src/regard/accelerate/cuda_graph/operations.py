"""The operations of a step in plain torch: what the kernels must equal, on any device, in any precision."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.accelerate.cuda_graph.search_state import ALIVE, ENDED, State, Weights
from regard.accelerate.plain import Linear, Norm
from regard.decode.candidates import best
from regard.layers.sublayer import activate
from regard.settings.architecture import Activation

Found = Float[Tensor, "hypotheses _"]


@final
@dataclass
class Stream:
    """The states between sub-layers; `change` is still to be added to `base`, by anyone who reads next."""

    base: Found
    change: Found | None = None


class Operations(ABC):
    """What a step is made of."""

    @abstractmethod
    def embed(self, weights: Weights, state: State) -> Stream:
        """The newest symbol of each hypothesis, at its position."""

    @abstractmethod
    def read(
        self,
        weights: Weights,
        stream: Stream,
        norm: Norm | None,
        linear: Linear,
        activation: Activation | None = None,
    ) -> Found:
        """activation(linear(norm(stream)))."""

    @abstractmethod
    def write(self, stream: Stream, found: Found, linear: Linear) -> None:
        """The stream with linear(found) added."""

    @abstractmethod
    def recall(self, weights: Weights, state: State, layer: int, found: Found) -> Found:
        """Append this position's key and value, then attend to all that the hypothesis said."""

    @abstractmethod
    def consult(self, weights: Weights, state: State, layer: int, query: Found) -> Found:
        """Attend to the source, whose keys all slots of a row share."""

    @abstractmethod
    def choose(self, weights: Weights, state: State, logits: Found) -> None:
        """Rank all continuations and turn the beam over, exactly as `decode/beam.py` does."""


def step(weights: Weights, state: State, do: Operations) -> None:
    """One symbol for every hypothesis of every row."""
    stream = do.embed(weights, state)
    for number, block in enumerate(weights.blocks):
        within, cross = block.within, block.cross
        assert cross is not None
        first, second, third = weights.reads[3 * number : 3 * number + 3]
        three = do.read(weights, stream, first, within.into)
        do.write(stream, do.recall(weights, state, number, three), within.out)
        query = do.read(weights, stream, second, cross.into)
        do.write(stream, do.consult(weights, state, number, query), cross.out)
        inner = do.read(weights, stream, third, block.widen, block.activation)
        do.write(stream, inner, block.narrow)
    logits = do.read(weights, stream, weights.final, weights.output)
    do.choose(weights, state, logits)


@final
class Plain(Operations):
    """Each operation as its formula reads."""

    def embed(self, weights: Weights, state: State) -> Stream:
        """Vector times scale, plus position."""
        ids, place = state.tokens.flatten().long(), state.position.long()
        embedded = weights.table[ids].to(weights.stream_dtype) * weights.embedding_scale
        return Stream(embedded + state.places[place].repeat_interleave(state.tokens.shape[1], 0))

    def read(
        self,
        weights: Weights,
        stream: Stream,
        norm: Norm | None,
        linear: Linear,
        activation: Activation | None = None,
    ) -> Found:
        """Post-norm goes on from what was normalised."""
        seen = stream.base
        if norm is not None:
            seen = F.layer_norm(seen, seen.shape[-1:], norm.weight, norm.bias, norm.eps)
        if weights.is_post:
            stream.base = seen
        output = F.linear(seen.to(weights.dtype), linear.weight, linear.bias)
        return output if activation is None else activate(output, activation)

    def write(self, stream: Stream, found: Found, linear: Linear) -> None:
        """The sum at once."""
        stream.base = stream.base + F.linear(found, linear.weight, linear.bias)

    def recall(self, weights: Weights, state: State, layer: int, found: Found) -> Found:
        """Every position of the cache takes part; those to come are masked."""
        rows, slots, positions = state.ancestors.shape
        within, (keys, values) = weights.blocks[layer].within, state.caches[layer]
        query, key, value = found.view(rows, slots, 3, within.heads, within.width).unbind(2)
        row = torch.arange(rows, device=found.device)
        place = state.position.long()
        keys[row, place], values[row, place] = key, value
        own = torch.arange(slots, device=found.device).view(1, slots, 1)
        newest = torch.arange(positions, device=found.device) == place.view(rows, 1, 1)
        slot = torch.where(newest, own, state.ancestors.long())
        reach = torch.arange(positions, device=found.device)
        keys, values = (  # (rows, slots, positions, heads, width)
            cache[row.view(rows, 1, 1), reach, slot] for cache in (keys, values)
        )
        scores = torch.einsum("rshd,rsphd->rshp", query, keys) * within.scale
        ahead = reach > place.view(rows, 1, 1, 1)
        shares = scores.to(weights.stream_dtype).masked_fill(ahead, -torch.inf).softmax(-1)
        context = torch.einsum("rshp,rsphd->rshd", shares.to(values.dtype), values)
        return context.flatten(2).flatten(0, 1)

    def consult(self, weights: Weights, state: State, layer: int, query: Found) -> Found:
        """The slots of a row are queries side by side; a row with no source reads zeros."""
        (rows, slots), cross = state.tokens.shape, weights.blocks[layer].cross
        assert cross is not None
        queries = query.view(rows, slots, cross.heads, cross.width)
        keys, values = state.memory_of(weights, layer).unbind(2)  # (rows, sources, heads, width)
        scores = torch.einsum("rshd,rjhd->rhsj", queries, keys) * cross.scale
        void = torch.arange(keys.shape[1], device=keys.device) >= state.lengths.view(rows, 1, 1, 1)
        masked = scores.to(weights.stream_dtype).masked_fill(void, -torch.inf)
        shares = masked.softmax(-1).masked_fill(void, 0.0).to(values.dtype)
        context = torch.einsum("rhsj,rjhd->rshd", shares, values)
        return context.flatten(2).flatten(0, 1)

    def choose(self, weights: Weights, state: State, logits: Found) -> None:
        """`ready`, `_choose`, `_finish` and `_open` of the beam, in place."""
        rows, slots = state.tokens.shape
        number = state.position.long()
        log_probabilities = logits.to(weights.stream_dtype).log_softmax(-1)
        log_probabilities = log_probabilities.nan_to_num(nan=-torch.inf, neginf=-torch.inf).view(
            rows, slots, -1
        )
        too_soon = (number < state.rules[0]).view(rows, 1)
        log_probabilities[:, :, weights.end].masked_fill_(too_soon, -torch.inf)
        vocabulary = log_probabilities.shape[-1]
        values, index = best((state.totals.unsqueeze(-1) + log_probabilities).flatten(1), slots)
        parents, tokens = index // vocabulary, index % vocabulary
        places = slots - state.finished.isfinite().sum(-1, keepdim=True)
        kept = (torch.arange(slots, device=values.device) < places) & values.isfinite()
        ended = kept & (tokens == weights.end)
        alive = kept & ~ended
        scores = values / state.divisors[number].view(rows, 1)
        both = torch.cat([state.finished, scores.masked_fill(~ended, -torch.inf)], 1)
        state.finished.copy_(both.sort(-1, descending=True).values[:, :slots])
        totals = values.masked_fill(~alive, -torch.inf)
        hope = (totals / state.divisors[-1]).amax(1)
        worst = state.finished.gather(1, (state.rules[2].long() - 1).expand(rows, 1)).squeeze(1)
        going = (hope > worst) & alive.any(1) & (number + 1 < state.rules[1])
        added = log_probabilities.flatten(1).gather(1, index)
        self._turn(state, parents, number)
        self._note(state, number, (parents, tokens, values, added, ended * ENDED + alive * ALIVE))
        state.is_open.copy_(going)
        state.totals.copy_(totals.masked_fill(~going.unsqueeze(1), -torch.inf))
        state.tokens.copy_(tokens)
        state.position.add_(1)

    def _turn(self, state: State, parents: Tensor, number: Tensor) -> None:
        """Each slot takes over its parent's past, and its parent as the newest part of it."""
        positions = state.ancestors.shape[2]
        past = state.ancestors.gather(1, parents.unsqueeze(-1).expand(-1, -1, positions))
        newest = torch.arange(positions, device=parents.device) == number.view(-1, 1, 1)
        state.ancestors.copy_(torch.where(newest, parents.unsqueeze(-1).int(), past))

    def _note(self, state: State, number: Tensor, parts: tuple[Tensor, ...]) -> None:
        row = torch.arange(len(number), device=number.device)
        columns = (state.parents, state.chosen, state.reached, state.added, state.fate)
        for column, part in zip(columns, parts, strict=True):
            column[number, row] = part.to(column.dtype)
