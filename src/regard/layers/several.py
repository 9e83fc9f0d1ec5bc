"""Attention to several sources at once, each with heads of its own (Zoph 2016; Libovický 2017, 2018).

flat          one softmax over the keys of all sources: they compete for the same attention
parallel      each source is read for itself, and what was read is added up
serial        one source after the other, each asked by what the ones before it answered
hierarchical  each source is read for itself; a second attention then weighs the sources
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attention, Heads, Memory, ScaledDot, Softmax
from regard.attention.attention import SOURCES, TARGET, Site
from regard.attention.mask import Mask, as_mask
from regard.layers.sublayer import LayerNorm
from regard.settings.architecture import Combination

States = Float[Tensor, "batch length width"]


@final
@dataclass(frozen=True, eq=False)
class Memories:
    """What can be attended to in each source, in the order of their names, and which sources a row has."""

    parts: tuple[Memory, ...]
    there: Bool[Tensor, "batch source"] | None = None


@final
class SeveralHeads(nn.Module):
    """Reads several sources, and combines what it read."""

    def __init__(self, heads: Mapping[str, Heads], width: int, combine: Combination) -> None:
        super().__init__()
        self.heads, self.combine = nn.ModuleDict(heads), combine
        self.between = nn.ModuleList(
            LayerNorm(width) for _ in range(len(heads) - 1 if combine == "serial" else 0)
        )
        first = self.each[0].attention
        layer = 0 if first.site is None else first.site.layer
        self.choice = Choice(width, layer) if combine == "hierarchical" else None
        if combine == "flat" and first.site is not None:  # whose softmax serves all sources
            first.site = replace(first.site, keys=tuple(heads))

    @property
    def each(self) -> list[Heads]:
        """The heads of every source."""
        return [heads for heads in self.heads.values() if isinstance(heads, Heads)]

    def remember(self, states: Mapping[str, States], masks: Mapping[str, Mask | None]) -> Memories:
        """Keys and values of every source; for one softmax over all, they lie in one memory."""
        parts = [
            heads.remember(states[name], masks[name])
            for name, heads in zip(self.heads, self.each, strict=True)
        ]
        there = None
        if self.choice is not None:
            there = torch.stack([allowed_keys(part).any(1) for part in parts], 1)
        return Memories((_joined(parts),) if self.combine == "flat" else tuple(parts), there)

    def forward(self, query: States, memories: Memories) -> States:
        """What each state reads from all sources together."""
        match self.combine:
            case "flat":
                return self.each[0](query, memories.parts[0])
            case "serial":
                return self._one_after_the_other(query, memories)
            case "parallel":
                return torch.stack(self._contexts(query, memories)).sum(0)
            case "hierarchical":
                assert self.choice is not None
                contexts = torch.stack(self._contexts(query, memories), 2)
                return self.choice(query, contexts, memories.there)

    def _contexts(self, query: States, memories: Memories) -> list[States]:
        pairs = zip(self.each, memories.parts, strict=True)
        return [heads(query, memory) for heads, memory in pairs]

    def _one_after_the_other(self, query: States, memories: Memories) -> States:
        """The sum of all answers, so that the block's own residual connection adds it once."""
        total = torch.zeros_like(query)
        for number, (heads, memory) in enumerate(zip(self.each, memories.parts, strict=True)):
            asks = query if number == 0 else self.between[number - 1](query + total)
            total = total + heads(asks, memory)
        return total


@final
class Choice(nn.Module):
    """Which source to believe, word by word: softmax over (W_q s_t) . (W_k c_source) / sqrt(width)."""

    def __init__(self, width: int, layer: int = 0) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        site = Site("choice", TARGET, SOURCES, layer)
        self.attention = Attention(ScaledDot(), Softmax(), site=site)

    def forward(
        self,
        query: States,
        contexts: Float[Tensor, "batch length source width"],
        there: Bool[Tensor, "batch source"] | None = None,
    ) -> States:
        """A weighted sum of what was read from each source; every position weighs for itself.

        A source that is missing has a weight of 0.
        """
        batch, length = query.shape[:2]
        asks = self.query(query).flatten(0, 1)[
            :, None, None
        ]  # (batch x length, one head, one query)
        choices = contexts.flatten(0, 1)[:, None]
        mask = None
        if there is not None:
            mask = as_mask(there.repeat_interleave(length, 0)[:, None, None])
        memory = self.attention.remember(self.key(choices), choices, mask)
        return self.attention(asks, memory).reshape(batch, length, -1)


def allowed_keys(memory: Memory) -> Bool[Tensor, "batch key"]:
    """True for every key that is no padding."""
    batch, keys = len(memory.key), memory.key.shape[2]
    hidden = None if memory.mask is None else memory.mask.unseen(keys)
    if hidden is None:
        return memory.key.new_ones(batch, keys, dtype=torch.bool)
    return (~hidden).expand(batch, -1)


def _joined(parts: list[Memory]) -> Memory:
    """The keys of several memories one behind the other; a key that is padding stays hidden."""
    real = torch.cat([allowed_keys(part) for part in parts], 1)
    mask = as_mask(real[:, None, None])
    return Memory(
        torch.cat([part.key for part in parts], 2),
        torch.cat([part.value for part in parts], 2),
        mask,
    )
