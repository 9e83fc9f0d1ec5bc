"""Attention is one thing: context_i = sum_j normalise(score(q_i, k_j))_j v_j, over the keys a mask allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import formula, shield
from regard.attention.choose import as_normaliser, as_score
from regard.attention.mask import Mask, as_mask
from regard.attention.memory import Memory, without_void
from regard.attention.normalise import Normaliser
from regard.attention.position import Bias
from regard.attention.score import Score
from regard.errors import UsageError

# What an attention is, declared where the model is built: nobody has to guess it from a module's path.

Role = Literal["self", "cross", "pool", "pointer", "choice"]

INPUTS = "inputs"  # what a decoder reads: the begin symbol, then what it has said
TARGET = "target"  # what each step says
LABEL = "label"  # the one answer about a whole source
PLACES = "places"  # what a pointer chooses from: the stop sign, then the items of the source
SENTINEL = (
    "sentinel"  # what is looked at instead of any word: the one key before a decoder's inputs
)
SOURCES = "sources"  # the sources themselves, where an attention weighs them


@final
@dataclass(frozen=True)
class Site:
    """The part an attention plays, and the axes that its queries and keys lie on.

    self    a sequence reads itself                cross    a decoder reads a source
    pool    one query reads a whole source         pointer  the weights themselves are the answer
    choice  each query weighs whole sources

    An axis is the name of a source, or one of the constants of this file. Keys of several sources that share
    one softmax lie on all their axes, one behind the other.
    """

    role: Role
    queries: str
    keys: str | tuple[str, ...]
    layer: int = 0

    @property
    def key_axes(self) -> tuple[str, ...]:
        """The axes of the keys, nearly always one."""
        return (self.keys,) if isinstance(self.keys, str) else self.keys


Query = Float[Tensor, "batch heads query query_width"]
Context = Float[Tensor, "batch heads query value_width"]

Watcher = Callable[["Aligned"], Tensor | None]


@final
class Attention(nn.Module):
    """A score and a normaliser, by name or as they are; where queries and keys come from is the caller's.

    The context is worked out by the formula or by a faster form that is equal to it (`formula.py`). `watch`
    sets `watcher`, which sees every alignment, and may return other weights to use instead.
    """

    def __init__(
        self,
        score: Score | str = "scaled-dot",
        normaliser: Normaliser | str = "softmax",
        *,
        bias: Bias | None = None,
        dropout: float = 0.0,
        site: Site | None = None,
    ) -> None:
        super().__init__()
        self.score = as_score(score)
        self.normaliser = as_normaliser(normaliser)
        self.bias = bias
        self.dropout = dropout
        self.site = site
        self.watcher: Watcher | None = None
        formula.ATTEND.forms()  # imported now: a compiler would stop where a module is imported

    @property
    def is_dropping(self) -> bool:
        """Whether weights are dropped now, by chance."""
        return self.training and self.dropout > 0

    def remember(
        self,
        key: Float[Tensor, "batch heads key key_width"],
        value: Float[Tensor, "... value_width"],
        mask: Mask | Tensor | None = None,
        first: int = 0,
    ) -> Memory:
        """Make keys and values ready to be attended to; the work that needs no query is done here, once."""
        if key.shape[:3] != value.shape[:3]:
            raise UsageError(
                f"every key needs one value: key is {tuple(key.shape)}, value is {tuple(value.shape)}",
                where="value",
                remedy="(batch, heads, key) must be the same for both",
            )
        mask = as_mask(mask)
        if mask is not None:
            mask.fit(*key.shape[:3])
        key, value = without_void(key, mask), without_void(value, mask)
        learns = torch.is_grad_enabled() and type(self.score).prepare is not Score.prepare
        if learns and not shield.is_even(mask):
            key = shield.by_rows(lambda rows: self.score.prepare(rows, first), key)
        else:
            key = self.score.prepare(key, first)
        # Before the first query no key has had any attention.
        wide = torch.promote_types(key.dtype, torch.float32)  # a sum of many weights
        carried = {name: key.new_zeros(key.shape[:3], dtype=wide) for name in self.score.sees}
        return Memory(key, value, mask, carried=carried)

    def align(self, query: Query, memory: Memory) -> Aligned:
        """All that this query and this memory work out, worked out when looked at."""
        return Aligned(query, self._seen(memory), self)

    def read(self, query: Query, memory: Memory) -> Read:
        """The context together with the weights behind it, for those who need both (copying, coverage)."""
        aligned = self.align(query, memory)
        edited = None if self.watcher is None else self.watcher(aligned)
        weights = aligned.weights if edited is None else edited
        allowed = aligned.allowed if edited is None else edited != 0
        dropped = F.dropout(weights, self.dropout, self.training)
        context = shield.read(dropped, aligned.memory.value, allowed)
        return Read(context, weights, aligned, self._after(memory, weights))

    def _after(self, memory: Memory, weights: Tensor) -> Memory:
        """The memory as the next query finds it: carrying what these weights add to what its score sees."""
        more = {}
        for name in self.score.sees:
            before = memory.carried[name]
            given = weights[:, :, -1] if name == "previous" else before + weights.sum(2)
            more[name] = given.to(before.dtype)
        return memory.carry(**more) if more else memory

    def _seen(self, memory: Memory) -> Memory:
        """The filled part of a memory, its keys as a score sees them that looks at what a memory carries."""
        memory = memory.seen()
        if not memory.carried:
            return memory
        return replace(memory, key=self.score.see(memory.key, memory.carried))

    def point(self, query: Query, memory: Memory) -> Float[Tensor, "batch heads query key"]:
        """The scores alone, for a reader whose output is where it looks (Vinyals 2015)."""
        aligned = self.align(query, memory)
        if self.watcher is not None:
            self.watcher(aligned)
        return aligned.scores

    def forward(self, query: Query, memory: Memory) -> Context:
        """The context: what each query read."""
        if self.watcher is None:
            return formula.attend(self, query, self._seen(memory))
        aligned = self.align(query, memory)
        edited = self.watcher(aligned)
        if edited is not None:
            return shield.read(edited, aligned.memory.value, edited != 0)
        if self.normaliser.is_random:
            weights = F.dropout(aligned.weights, self.dropout, self.training)
            return shield.read(weights, aligned.memory.value, aligned.allowed)
        return formula.attend(self, query, aligned.memory)


@final
@dataclass(frozen=True, eq=False)
class Read:
    """What was read, and the weights it was read with: those of the model, or those a watcher put there.

    `memory` is what the next query reads: the same, carrying what this one looked at.
    """

    context: Context
    weights: Float[Tensor, "batch heads query key"]
    aligned: Aligned
    memory: Memory


@final
@dataclass(frozen=True, eq=False)
class Aligned:
    """What one attention worked out: query, memory and, when looked at, scores, weights and contributions."""

    query: Query
    memory: Memory
    attention: Attention

    @cached_property
    def allowed(self) -> Tensor | None:
        """True where a query may see a key; None when it may see all."""
        return self.memory.allowed(self.query.shape[2])

    @cached_property
    def scores(self) -> Float[Tensor, "batch heads query key"]:
        """How well each query matches each key; -inf where it may not look."""
        if self.allowed is None:
            return formula.scores(self.attention, self.query, self.memory)

        def columns(key: Tensor) -> Tensor:  # which know nothing of each other
            return formula.scores(self.attention, self.query, replace(self.memory, key=key)).mT

        scores = shield.by_rows(columns, self.memory.key).mT
        return scores.masked_fill(~self.allowed, -torch.inf)

    @cached_property
    def weights(self) -> Float[Tensor, "batch heads query key"]:
        """How each query shared its attention; never negative, 0 where it may not look."""
        return self.attention.normaliser(self.scores, self.allowed)

    @property
    def contributions(self) -> Float[Tensor, "batch heads query key neuron"]:
        """What each neuron added to each score: the neuron view."""
        return self.attention.score.contributions(self.query, self.memory.key)

    @property
    def context(self) -> Context:
        """The weighted sum of the values."""
        if self.memory.mask is None or self.attention.normaliser.is_random:
            return shield.read(self.weights, self.memory.value, self.allowed)
        return shield.attend(
            lambda memory: self._with(memory).weights @ memory.value,
            self.memory,
            self.memory.mask,
            lambda: self.allowed,
        )

    def _with(self, memory: Memory) -> Aligned:
        return self if memory is self.memory else replace(self, memory=memory)
