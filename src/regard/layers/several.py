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
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Attention, Heads, Memory, ScaledDot, Softmax
from regard.attention.mask import Mask, as_mask
from regard.attention.site import SOURCES, TARGET, Site
from regard.layers.norm import LayerNorm
from regard.settings.names import Combination

States = Float[Tensor, "batch length width"]


@final
@dataclass(frozen=True, eq=False)
class Memories:
    """What can be attended to in each source, in the order of their names."""

    parts: tuple[Memory, ...]


@final
class SeveralHeads(nn.Module):
    """Reads several sources, and combines what it read."""

    def __init__(self, heads: Mapping[str, Heads], width: int, combine: Combination) -> None:
        super().__init__()
        self.heads, self.combine = nn.ModuleDict(heads), combine
        self.between = nn.ModuleList(
            LayerNorm(width) for _ in range(len(heads) - 1 if combine == "serial" else 0)
        )
        self.choice = Choice(width) if combine == "hierarchical" else None
        first = self.each[0].attention
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
        return Memories((_joined(parts),) if self.combine == "flat" else tuple(parts))

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
                return self.choice(query, torch.stack(self._contexts(query, memories), 2))

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

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.attention = Attention(ScaledDot(), Softmax(), site=Site("choice", TARGET, SOURCES))

    def forward(
        self, query: States, contexts: Float[Tensor, "batch length source width"]
    ) -> States:
        """A weighted sum of what was read from each source; every position weighs for itself."""
        batch, length = query.shape[:2]
        asks = self.query(query).flatten(0, 1)[
            :, None, None
        ]  # (batch x length, one head, one query)
        choices = contexts.flatten(0, 1)[:, None]
        memory = self.attention.remember(self.key(choices), choices)
        return self.attention(asks, memory).reshape(batch, length, -1)


def _joined(parts: list[Memory]) -> Memory:
    """The keys of several memories one behind the other; a key that is padding stays hidden."""
    allowed = [
        part.key.new_ones(len(part.key), part.key.shape[2], dtype=torch.bool)
        if (hidden := None if part.mask is None else part.mask.unseen(part.key.shape[2])) is None
        else ~hidden
        for part in parts
    ]
    real = torch.cat([one.expand(len(parts[0].key), -1) for one in allowed], 1)
    mask = as_mask(real[:, None, None])
    return Memory(
        torch.cat([part.key for part in parts], 2),
        torch.cat([part.value for part in parts], 2),
        mask,
    )
