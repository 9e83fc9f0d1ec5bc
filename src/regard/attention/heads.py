"""Several attentions side by side, each in a space of its own: Concat(head_1 .. head_h) W^O (L52)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.attention import Attention
from regard.attention.choose import as_score
from regard.attention.gate import drawn, new_gates, settled
from regard.attention.mask import Mask
from regard.attention.memory import Memory
from regard.attention.position import Added, Rotary
from regard.attention.score import Score
from regard.errors import UsageError, require_integers

States = Float[Tensor, "batch length width"]
Source = Float[Tensor, "batch source source_width"]


@final
class Heads(nn.Module):
    """Project, split into heads, attend, gate, merge, project.

    `heads(states)` is self-attention, `heads(states, source)` attention to other states. `attention` is the
    name of a score (with softmax), a score, or an `Attention` with a normaliser of its own.
    `key_width` and `value_width` are d_k and d_v; heads times width need not be the model's width.
    `gate` holds one number a head, which multiplies its context: 1 is open, 0 is closed. It is a buffer,
    saved and loaded with the weights; weights saved without one have open heads. With `learned_gates` each is
    drawn anew in every pass of training, by a parameter that says how open it is (gate.py); `gate` then holds
    what the model answers with.
    """

    def __init__(
        self,
        width: int,
        num_heads: int,
        attention: Attention | Score | str = "scaled-dot",
        *,
        source_width: int | None = None,
        key_width: int | None = None,
        value_width: int | None = None,
        position: Rotary | Added | None = None,
        bias: bool = True,
        learned_gates: bool = False,
    ) -> None:
        super().__init__()
        require_integers("Heads", width=width, num_heads=num_heads)
        key_width = key_width or head_width(width, num_heads)
        value_width = value_width or key_width
        source_width = source_width or width
        self.num_heads, self.key_width, self.value_width = num_heads, key_width, value_width
        self.query = nn.Linear(width, num_heads * key_width, bias=bias)
        self.key = nn.Linear(source_width, num_heads * key_width, bias=bias)
        self.value = nn.Linear(source_width, num_heads * value_width, bias=bias)
        self.output = nn.Linear(num_heads * value_width, width, bias=bias)
        if not isinstance(attention, Attention):
            attention = Attention(as_score(attention, key_width, num_heads))
        self.attention = attention
        self.position = _fitting(position, key_width, value_width)
        self.gate: Tensor
        self.register_buffer("gate", torch.ones(num_heads))
        self.openness = new_gates(num_heads) if learned_gates else None
        for projection in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(projection.weight)
            if bias:
                nn.init.zeros_(projection.bias)

    def remember(self, source: States, mask: Mask | Tensor | None = None) -> Memory:
        """What there is to attend to in these states."""
        return self._remembered(self.key(source), self.value(source), mask)

    def within(self, states: States, mask: Mask | Tensor | None = None) -> States:
        """What each state reads from all of them: queries, keys and values by one product."""
        return self.merge(self.context_within(states, mask))

    def context_within(
        self, states: States, mask: Mask | Tensor | None = None
    ) -> Float[Tensor, "batch heads length value_width"]:
        """The same before heads are gated and merged."""
        projections = self.query, self.key, self.value
        query, key, value = _parts(F.linear(states, *joined(projections)), projections)
        return self._context(query, self._remembered(key, value, mask))

    def room(self, like: Tensor, batch: int, capacity: int, mask: Mask | None = None) -> Memory:
        """An empty cache for positions to come."""
        widths = (self._prepared_width(like), self.value_width)
        return Memory.room(
            like, batch=batch, heads=self.num_heads, capacity=capacity, widths=widths, mask=mask
        )

    def append(self, memory: Memory, source: States) -> Memory:
        """The cache with these states behind what it holds."""
        first = memory.filled or 0
        key, value = self._ready(self.key(source), self.value(source), first)
        return memory.append(self.attention.score.prepare(key, first), value)

    def forward(
        self,
        query: States,
        memory: Memory | Source | None = None,
        mask: Mask | Tensor | None = None,
    ) -> States:
        """What each state reads: from a memory, from other states, or, alone, from all of themselves."""
        if query.dim() != 3 or query.shape[-1] != self.query.in_features:
            raise UsageError(
                f"states of shape {tuple(query.shape)} cannot ask these heads",
                where="query",
                remedy=f"give (batch, length, {self.query.in_features}); for one text, states[None]",
            )
        if memory is None:
            return self.within(query, mask)
        if not isinstance(memory, Memory):
            memory = self.remember(memory, mask)
        elif mask is not None:
            raise UsageError(
                "a memory has its mask already",
                where="mask",
                remedy="give the mask where it is made: heads.remember(states, mask)",
            )
        return self.merge(self.context(query, memory))

    def context(
        self, query: States, memory: Memory
    ) -> Float[Tensor, "batch heads length value_width"]:
        """The same before heads are gated and merged."""
        return self._context(self.query(query), memory)

    def merge(self, context: Float[Tensor, "batch heads length value_width"]) -> States:
        """Concat(gate_1 head_1 .. gate_h head_h) W^O."""
        gated = context * self.gates().to(context.dtype).view(-1, 1, 1)
        return self.output(gated.transpose(1, 2).flatten(2))

    def gated_output(self) -> Float[Tensor, "width heads_x_width"]:
        """W^O with the columns of head i times gate_i: the same map, for contexts that are not gated."""
        return self.output.weight * self.gates().repeat_interleave(self.value_width)

    def gates(self) -> Float[Tensor, " heads"]:
        """What each head's context is multiplied by now: drawn while gates are learned, else as they are."""
        if self.openness is None or not self.training:
            return self.gate
        return drawn(self.openness)

    def train(self, mode: bool = True) -> Heads:
        """Gates that were learned are settled when learning ends: a model that answers draws nothing."""
        super().train(mode)
        if not mode:
            self.settle()
        return self

    @torch.no_grad()
    def settle(self) -> None:
        """`gate` holds what the learned gates are without noise."""
        if self.openness is not None and not self.openness.is_meta:
            self.gate.copy_(settled(self.openness))

    def _context(self, query: Tensor, memory: Memory) -> Tensor:
        query = self._placed(self._split(query, self.key_width), memory.first, turned=True)
        return self.attention(query, memory)

    def keep(self, heads: list[int]) -> None:
        """Remove every head but these for real, by slicing the projections."""
        unknown = [head for head in heads if not 0 <= head < self.num_heads]
        if unknown or len(set(heads)) < len(heads):
            raise UsageError(
                f"heads to keep are distinct numbers in 0..{self.num_heads - 1}, not {heads}",
                where="Heads.keep",
                remedy="name each head to keep once: keep([0, 2])",
            )
        chosen = torch.tensor(heads, dtype=torch.long, device=self.query.weight.device)
        for projection, width in (
            (self.query, self.key_width),
            (self.key, self.key_width),
            (self.value, self.value_width),
        ):
            _keep_rows(projection, chosen, width)
        _keep_columns(self.output, chosen, self.value_width)
        self.attention.score.keep(heads)
        if self.attention.bias is not None:
            self.attention.bias.keep(heads)
        self.gate = self.gate[chosen]
        if self.openness is not None:
            self.openness = nn.Parameter(self.openness.detach()[chosen])
        self.num_heads = len(heads)

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *given: Any) -> None:
        """Weights that were saved without gates belong to open heads."""
        state.setdefault(f"{prefix}gate", torch.ones_like(self.gate))
        super()._load_from_state_dict(state, prefix, *given)

    def _remembered(self, key: Tensor, value: Tensor, mask: Mask | Tensor | None) -> Memory:
        return self.attention.remember(*self._ready(key, value, 0), mask)

    def _ready(self, key: Tensor, value: Tensor, first: int) -> tuple[Tensor, Tensor]:
        """Projected keys and values, split into heads and placed."""
        key, value = self._split(key, self.key_width), self._split(value, self.value_width)
        return self._placed(key, first, turned=True), self._placed(value, first, turned=False)

    def _placed(self, states: Tensor, first: int, *, turned: bool) -> Tensor:
        """Positions inside the heads: vectors are added to q, k and v (L47), rotation turns q and k."""
        match self.position:
            case Added():
                return self.position(states, first)
            case Rotary() if turned:
                return self.position(states, first)
            case _:
                return states

    def _split(self, states: Tensor, width: int) -> Float[Tensor, "batch heads length width"]:
        return states.unflatten(-1, (self.num_heads, width)).transpose(1, 2)

    def _prepared_width(self, like: Tensor) -> int:
        nothing = like.new_zeros(1, self.num_heads, 0, self.key_width)
        return self.attention.score.prepare(nothing).shape[-1]


def remember_all(
    several: Sequence[Heads], source: States, mask: Mask | Tensor | None = None
) -> tuple[Memory, ...]:
    """What each of several finds in the same states: all their keys and values by one product."""
    projections = [projection for heads in several for projection in (heads.key, heads.value)]
    parts = iter(_parts(F.linear(source, *joined(projections)), projections))
    return tuple(heads._remembered(next(parts), next(parts), mask) for heads in several)


def joined(projections: Sequence[nn.Linear]) -> tuple[Tensor, Tensor | None]:
    """Weight and bias of all of these maps, which lie under one another as one."""
    weights: list[Tensor] = [projection.weight for projection in projections]
    biases: list[Tensor] = [
        projection.bias for projection in projections if projection.bias is not None
    ]
    return torch.cat(weights), torch.cat(biases) if biases else None


def _parts(joined: Tensor, projections: Sequence[nn.Linear]) -> tuple[Tensor, ...]:
    """What each of the maps gives."""
    return joined.split([projection.out_features for projection in projections], -1)


def head_width(width: int, num_heads: int) -> int:
    """Width / heads, when it is whole."""
    if num_heads < 1 or width % num_heads:
        raise UsageError(
            f"width {width} does not divide into {num_heads} heads",
            where="num_heads",
            remedy=f"choose one of {_divisors(width)}, or give key_width yourself",
        )
    return width // num_heads


def _fitting(
    position: Rotary | Added | None, key_width: int, value_width: int
) -> Rotary | Added | None:
    needed = {key_width, value_width} if isinstance(position, Added) else {key_width}
    if position is not None and needed != {position.width}:
        raise UsageError(
            f"positions of width {position.width} cannot serve heads of "
            f"key width {key_width} and value width {value_width}",
            where="position",
            remedy="rotation needs the key width; vectors are added to q, k and v, so all must agree",
        )
    return position


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


def _keep_rows(projection: nn.Linear, heads: Tensor, width: int) -> None:
    weight = projection.weight.detach().unflatten(0, (-1, width))[heads].flatten(0, 1)
    projection.weight = nn.Parameter(weight.clone())
    if projection.bias is not None:
        bias = projection.bias.detach().unflatten(0, (-1, width))[heads].flatten(0, 1)
        projection.bias = nn.Parameter(bias.clone())
    projection.out_features = len(projection.weight)


def _keep_columns(projection: nn.Linear, heads: Tensor, width: int) -> None:
    weight = projection.weight.detach().unflatten(1, (-1, width))[:, heads].flatten(1, 2)
    projection.weight = nn.Parameter(weight.clone())
    projection.in_features = projection.weight.shape[1]
