"""Where a token stands. Without this, self-attention is blind to order (L51).

Three kinds: vectors that are added (to the input, or to q, k and v), a rotation of q and k, and a bias on
the scores.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Literal, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import UsageError, require_integers

Layout = Literal["interleaved", "halves"]


def sinusoid(
    length: int,
    width: int,
    *,
    base: float = 10000.0,
    layout: Layout = "interleaved",
    first: int = 0,
    device: torch.device | None = None,
) -> Float[Tensor, "length width"]:
    """PE(pos, 2i) = sin(pos / base^(2i/width)), PE(pos, 2i+1) = cos(same) (Vaswani 2017; L42-L44).

    `halves` puts all sines left and all cosines right. An odd width ends on a sine.
    """
    require_integers("sinusoid", width=width)
    require_integers("sinusoid", least=0, length=length)
    pairs = (width + 1) // 2
    position = torch.arange(first, first + length, device=device, dtype=torch.float64)
    frequency = base ** (-2 * torch.arange(pairs, device=device, dtype=torch.float64) / width)
    angle = position[:, None] * frequency
    if layout == "halves":
        table = torch.cat([angle.sin(), angle.cos()[:, : width // 2]], 1)
    elif layout == "interleaved":
        table = torch.stack([angle.sin(), angle.cos()], 2).flatten(1)[:, :width]
    else:
        raise UsageError(
            f"no layout '{layout}'", where="layout", remedy="choose interleaved or halves"
        )
    return table.to(torch.get_default_dtype())


def period(pair: int, width: int, base: float = 10000.0) -> float:
    """How many positions until pair i repeats: 2 pi base^(2i/width) (L49)."""
    return 2 * math.pi * base ** (2 * pair / width)


class Added(nn.Module, ABC):
    """One vector a position, to be added."""

    def __init__(self, width: int) -> None:
        super().__init__()
        require_integers(type(self).__name__, width=width)
        self.width = width

    @abstractmethod
    def table(self, length: int, first: int = 0) -> Float[Tensor, "length width"]:
        """The vectors of positions first .. first + length - 1."""

    def forward(
        self, states: Float[Tensor, "*rows length width"], first: int = 0
    ) -> Float[Tensor, "*rows length width"]:
        """States with their positions added."""
        return states + self.table(states.shape[-2], first).to(states.dtype)


@final
class Sinusoidal(Added):
    """Waves from fast to slow: any length, nothing to learn."""

    def __init__(self, width: int, base: float = 10000.0, layout: Layout = "interleaved") -> None:
        super().__init__(width)
        self.base, self.layout = base, layout
        self.register_buffer("ready", self._waves(0, 512), persistent=False)
        self.ready: Tensor

    def _waves(self, first: int, length: int) -> Tensor:
        return sinusoid(length, self.width, base=self.base, layout=self.layout, first=first)

    def table(self, length: int, first: int = 0) -> Float[Tensor, "length width"]:
        """From the ready table, which doubles when a longer text comes."""
        while first + length > len(self.ready):
            self.ready = self._waves(0, 2 * len(self.ready)).to(self.ready)
        return self.ready[first : first + length]


@final
class Learned(Added):
    """One learned vector a position, up to a limit."""

    def __init__(self, width: int, max_length: int) -> None:
        super().__init__(width)
        require_integers("Learned", max_length=max_length)
        self.weight = nn.Parameter(torch.randn(max_length, width) * width**-0.5)

    def table(self, length: int, first: int = 0) -> Float[Tensor, "length width"]:
        """Rows of the learned table."""
        room = self.weight.shape[0]
        if first + length > room:
            raise UsageError(
                f"learned positions end at {room}, and {first + length} were asked for",
                where="Learned.max_length",
                remedy="shorten the input, raise max_length before training, or use sinusoidal",
            )
        return self.weight[first : first + length]


@torch.no_grad()
def added_tables(
    model: nn.Module, length: int
) -> list[tuple[str, Added, Float[Tensor, "row width"]]]:
    """The first vectors of every position that a model adds, by path; each table once, though many use it."""
    tables: list[tuple[str, Added, Tensor]] = []
    for path, part in model.named_modules():
        if isinstance(part, Added):
            rows = min(length, part.weight.shape[0]) if isinstance(part, Learned) else length
            table = part.table(rows).detach().float().cpu()
            if not any(torch.equal(table, other) for _, _, other in tables):
                tables.append((path, part, table))
    return tables


@final
class Rotary(nn.Module):
    """Turn each pair of neurons by position * frequency, so that q . k depends on i - j alone (Su 2021)."""

    def __init__(self, width: int, base: float = 10000.0) -> None:
        super().__init__()
        require_integers("Rotary", width=width)
        if width % 2:
            raise UsageError(
                f"rotary positions turn pairs of neurons; a head of width {width} has one left over",
                where="Rotary.width",
                remedy="choose an even head width",
            )
        self.width, self.base = width, base
        self.waves = Sinusoidal(width, base, "halves")

    def forward(
        self, states: Float[Tensor, "batch heads length width"], first: int = 0
    ) -> Float[Tensor, "batch heads length width"]:
        """The pair (n, n + width/2) turned by its angle."""
        sine, cosine = self.waves.table(states.shape[-2], first).to(states.dtype).chunk(2, -1)
        left, right = states.chunk(2, -1)
        return torch.cat([left * cosine - right * sine, right * cosine + left * sine], -1)


class Bias(nn.Module, ABC):
    """A number added to each score that depends on the two positions alone."""

    @abstractmethod
    def forward(
        self, queries: int, keys: int, first: int = 0
    ) -> Float[Tensor, "1 heads query key"]:
        """The bias of queries first .. first + queries - 1 on keys 0 .. keys - 1."""

    @abstractmethod
    def keep(self, heads: list[int]) -> None:
        """Forget every head but these."""


@final
class Alibi(Bias):
    """-slope |i - j|, one slope a head: near keys first (Press 2022)."""

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        require_integers("Alibi", num_heads=num_heads)
        self.register_buffer("slope", torch.tensor(slopes(num_heads)), persistent=True)
        self.slope: Tensor

    def forward(
        self, queries: int, keys: int, first: int = 0
    ) -> Float[Tensor, "1 heads query key"]:
        """Minus the distance, times each head's slope."""
        query = torch.arange(first, first + queries, device=self.slope.device)
        key = torch.arange(keys, device=self.slope.device)
        distance = (query[:, None] - key).abs()
        return -self.slope.view(1, -1, 1, 1) * distance

    def keep(self, heads: list[int]) -> None:
        """The slopes of these heads."""
        self.slope = self.slope[heads]


def slopes(num_heads: int) -> list[float]:
    """2^(-8/h), 2^(-16/h), ..; where h is no power of two, every other one of the next power fills up."""
    power = 2 ** math.floor(math.log2(num_heads))
    first = [2 ** (-8 * (head + 1) / power) for head in range(power)]
    between = [2 ** (-8 * (head + 1) / (2 * power)) for head in range(0, 2 * power, 2)]
    return (first + between)[:num_heads]
