"""Which keys a query may attend to. True = may attend, everywhere in this project.

A mask is a value that knows its structure, so that a kernel can use it without writing it out. Positions
count from 0; `first` is the position of the first query, which a decoder's cache moves along.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.errors import UsageError, is_integer, kind_of

Allowed = Bool[Tensor, "#batch #heads #query #key"]


class Mask(ABC):
    """Whether query i of a sequence may attend to its key j."""

    @abstractmethod
    def allows(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        """True where query position `query` may attend to key position `key`; the indices broadcast."""

    def reduce(self, queries: int, keys: int, first: int) -> Mask | None:  # noqa: ARG002
        """The same mask for this shape, as simple as it can be told; None when it forbids nothing."""
        return self

    def fit(self, batch: int, heads: int, keys: int, queries: int | None = None) -> None:  # noqa: B027
        """Refuse a memory of a shape that this mask was not made for."""

    def select(self, rows: Int[Tensor, " rows"]) -> Mask:  # noqa: ARG002
        """The mask of these rows of the batch."""
        return self

    def unseen(self, keys: int) -> Bool[Tensor, "#batch key"] | None:  # noqa: ARG002
        """Keys that no query may attend to, where that is plain to see; their content is void."""
        return None

    def span(self, first: int, last: int) -> tuple[int, int]:  # noqa: ARG002
        """The keys from .. to that hold all which queries first .. last - 1 may attend to."""
        return 0, sys.maxsize

    def to_bool(
        self,
        queries: int,
        keys: int,
        *,
        batch: int = 1,
        heads: int = 1,
        first: int = 0,
        device: torch.device | None = None,
    ) -> Allowed:
        """The mask written out, (batch or 1, heads or 1, query, key)."""
        allowed = self.allows(
            torch.arange(batch, device=device).view(-1, 1, 1, 1),
            torch.arange(heads, device=device).view(1, -1, 1, 1),
            torch.arange(first, first + queries, device=device).view(1, 1, -1, 1),
            torch.arange(keys, device=device).view(1, 1, 1, -1),
        )
        return allowed.expand(*allowed.shape[:2], queries, keys)

    def __and__(self, other: Mask | Tensor | None) -> Mask:
        mask = as_mask(other)
        return self if mask is None else Both.of(self, mask)

    def __rand__(self, other: Mask | Tensor | None) -> Mask:
        mask = as_mask(other)
        return self if mask is None else Both.of(mask, self)


@final
@dataclass(frozen=True, eq=False)
class Padding(Mask):
    """Row b has `lengths[b]` real keys; what follows is padding (L37)."""

    lengths: Int[Tensor, " batch"]

    def __post_init__(self) -> None:
        if not isinstance(self.lengths, Tensor):
            object.__setattr__(self, "lengths", _lengths(self.lengths))

    def allows(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:  # noqa: ARG002
        """j < length of the row."""
        return key < self.lengths[batch]

    def fit(self, batch: int, heads: int, keys: int, queries: int | None = None) -> None:  # noqa: ARG002
        """One length a row."""
        if self.lengths.shape[0] != batch:  # `len` would fix the size of a batch that is exported
            raise UsageError(
                f"padding has {len(self.lengths)} lengths for a batch of {batch}",
                where="mask",
                remedy="give one length a row: how many of its keys are real",
            )

    def select(self, rows: Int[Tensor, " rows"]) -> Padding:
        """The lengths of these rows."""
        return Padding(self.lengths[rows])

    def unseen(self, keys: int) -> Bool[Tensor, "#batch key"]:
        """Everything past the row's end."""
        return torch.arange(keys, device=self.lengths.device) >= self.lengths[:, None]


@final
@dataclass(frozen=True)
class Causal(Mask):
    """No looking ahead: j <= i (L36)."""

    def allows(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:  # noqa: ARG002
        """j <= i."""
        return key <= query

    def reduce(self, queries: int, keys: int, first: int) -> Mask | None:  # noqa: ARG002
        """The newest position alone may see all there is."""
        return None if first >= keys - 1 else self

    def span(self, first: int, last: int) -> tuple[int, int]:  # noqa: ARG002
        """Nothing behind the last query."""
        return 0, last


@final
@dataclass(frozen=True)
class Window(Mask):
    """Only the neighbourhood: i - before <= j <= i + after (L38, L39)."""

    before: int
    after: int

    def __post_init__(self) -> None:
        if not (is_integer(self.before) and is_integer(self.after)):
            raise UsageError(
                f"a window reaches 0 or more positions, not {self}",
                where="Window",
                remedy="Window(before=2, after=0) sees itself and the two positions before it",
            )

    def allows(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:  # noqa: ARG002
        """i - before <= j <= i + after."""
        return (key >= query - self.before) & (key <= query + self.after)

    def reduce(self, queries: int, keys: int, first: int) -> Mask | None:
        """A window as wide as the sequence is no window."""
        whole = self.before >= first + queries - 1 and self.after >= keys - 1 - first
        return None if whole else self

    def span(self, first: int, last: int) -> tuple[int, int]:
        """From the first query's past to the last one's future."""
        return first - self.before, last + self.after


@final
@dataclass(frozen=True)
class Strided(Mask):
    """The last `stride` positions, and every stride-th before and after (Child 2019)."""

    stride: int

    def __post_init__(self) -> None:
        if not is_integer(self.stride, 1):
            raise UsageError(
                f"a stride is at least 1, not {self.stride}",
                where="Strided",
                remedy="Strided(4) sees every fourth position",
            )

    def allows(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:  # noqa: ARG002
        """|i - j| < stride, or a whole number of strides."""
        distance = (query - key).abs()
        return (distance < self.stride) | (distance % self.stride == 0)

    def reduce(self, queries: int, keys: int, first: int) -> Mask | None:  # noqa: ARG002
        """With stride 1 everything is near."""
        return None if self.stride == 1 else self


@final
@dataclass(frozen=True)
class GlobalWindow(Mask):
    """A window, and `globals` first positions that see all and are seen by all (Beltagy 2020)."""

    radius: int
    globals: int = 1

    def __post_init__(self) -> None:
        if not (is_integer(self.radius) and is_integer(self.globals)):
            raise UsageError(
                f"radius and globals are 0 or more, not {self}",
                where="GlobalWindow",
                remedy="GlobalWindow(radius=4, globals=1) sees four positions on each side and the first",
            )

    def allows(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:  # noqa: ARG002
        """|i - j| <= radius, or one of them is global."""
        near = (query - key).abs() <= self.radius
        return near | (key < self.globals) | (query < self.globals)


@final
@dataclass(frozen=True, eq=False)
class Given(Mask):
    """Any pattern at all, written out as a bool tensor that broadcasts to (batch, heads, query, key)."""

    allowed: Allowed

    def __post_init__(self) -> None:
        if not isinstance(self.allowed, Tensor) or self.allowed.dim() != 4:
            object.__setattr__(self, "allowed", _pattern(self.allowed))

    def allows(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        """Looked up; an axis of size 1 serves all."""
        sizes = self.allowed.shape
        return self.allowed[batch % sizes[0], head % sizes[1], query % sizes[2], key % sizes[3]]

    def reduce(self, queries: int, keys: int, first: int) -> Mask | None:
        """A pattern may reach further than a cache is filled, never less far."""
        batch, heads, rows, columns = self.allowed.shape
        if 1 != rows < first + queries or 1 != columns < keys:
            raise _misfit(self.allowed, (batch, heads, first + queries, keys))
        return self

    def fit(self, batch: int, heads: int, keys: int, queries: int | None = None) -> None:
        """Each axis is 1 or that of the scores."""
        sizes = self.allowed.shape
        needed = (batch, heads, sizes[2] if queries is None else queries, keys)
        if any(size not in (1, need) for size, need in zip(sizes, needed, strict=True)):
            raise _misfit(self.allowed, needed)

    def select(self, rows: Int[Tensor, " rows"]) -> Given:
        """The pattern of these rows."""
        return self if self.allowed.shape[0] == 1 else Given(self.allowed[rows])

    def unseen(self, keys: int) -> Bool[Tensor, "#batch key"]:
        """Keys that no query and no head may see."""
        void = ~self.allowed.any(dim=(1, 2))
        return void.expand(-1, keys) if void.shape[1] == 1 else void[:, :keys]


@final
@dataclass(frozen=True)
class Both(Mask):
    """Several masks at once: a key must be allowed by every part."""

    parts: tuple[Mask, ...]

    @classmethod
    def of(cls, *masks: Mask) -> Both:
        """Nested conjunctions laid flat."""
        return cls(
            tuple(part for m in masks for part in (m.parts if isinstance(m, Both) else (m,)))
        )

    def allows(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        """All parts agree."""
        first, *rest = (part.allows(batch, head, query, key) for part in self.parts)
        for other in rest:
            first = first & other
        return first

    def reduce(self, queries: int, keys: int, first: int) -> Mask | None:
        """Parts that forbid nothing fall away."""
        parts = [part.reduce(queries, keys, first) for part in self.parts]
        kept = tuple(part for part in parts if part is not None)
        if len(kept) <= 1:
            return kept[0] if kept else None
        return replace(self, parts=kept)

    def fit(self, batch: int, heads: int, keys: int, queries: int | None = None) -> None:
        """Every part fits."""
        for part in self.parts:
            part.fit(batch, heads, keys, queries)

    def select(self, rows: Int[Tensor, " rows"]) -> Both:
        """Each part of these rows."""
        return replace(self, parts=tuple(part.select(rows) for part in self.parts))

    def span(self, first: int, last: int) -> tuple[int, int]:
        """What the spans of all parts share."""
        begins, ends = zip(*(part.span(first, last) for part in self.parts), strict=True)
        return max(begins), min(ends)

    def unseen(self, keys: int) -> Bool[Tensor, "#batch key"] | None:
        """Unseen by one part is unseen."""
        parts = [part.unseen(keys) for part in self.parts]
        known = [one for one in parts if one is not None]
        if not known:
            return None
        first, *rest = known
        for other in rest:
            first = first | other
        return first


@final
@dataclass(frozen=True, eq=False)
class Moved(Mask):
    """The same pattern over a memory whose first `by` keys were left out."""

    mask: Mask
    by: int

    def allows(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        """Key j was key j + by."""
        return self.mask.allows(batch, head, query, key + self.by)


def as_mask(mask: object) -> Mask | None:
    """What a person may pass as a mask: one of ours, bools in a tensor, an array or lists, or nothing."""
    if mask is None or isinstance(mask, Mask):
        return mask
    if isinstance(mask, (Tensor, np.ndarray, list, tuple)):
        return Given(_pattern(mask))
    if isinstance(mask, type):
        raise UsageError(
            f"{mask.__name__} is a class, and a mask is one of it",
            where="mask",
            remedy=f"write {mask.__name__}(...), as in Causal() or Window(3, 3)",
        )
    raise UsageError(
        f"a mask is a regard mask or a bool tensor, not {type(mask).__name__}",
        where="mask",
        remedy="for example regard.Causal(), or Padding(lengths) & Window(3, 3)",
    )


def _pattern(given: Any) -> Allowed:
    """Bools of 2 to 4 axes, with the axes that they leave out."""
    mask = given if isinstance(given, Tensor) else _written(given)
    if mask.dtype != torch.bool or not 2 <= mask.dim() <= 4:
        raise UsageError(
            f"a mask is a bool tensor of 2 to 4 axes, not {mask.dtype} of {tuple(mask.shape)}",
            where="mask",
            remedy="True = may attend; write `scores_mask == 0` or `mask.bool()`",
        )
    return mask[:, None] if mask.dim() == 3 else mask.view(*(1,) * (4 - mask.dim()), *mask.shape)


def _lengths(given: Any) -> Tensor:
    """How many keys of each row are real, where they were not written as a tensor."""
    try:
        lengths = torch.from_numpy(np.atleast_1d(np.array(given)))
    except (TypeError, ValueError):
        lengths = torch.empty(0)
    if lengths.dim() != 1 or lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise UsageError(
            f"{kind_of(given)} holds no lengths",
            where="Padding.lengths",
            remedy="give how many keys of each row are real, as in Padding([7, 3])",
        )
    return lengths


def _written(rows: Any) -> Tensor:
    """A mask written out by hand."""
    try:
        return torch.from_numpy(np.array(rows))
    except (TypeError, ValueError):
        raise UsageError(
            "these rows are no mask",
            where="mask",
            remedy="True = may attend: as many rows as queries, each as long as there are keys",
        ) from None


def _misfit(allowed: Tensor, needed: tuple[int, ...]) -> UsageError:
    return UsageError(
        f"a mask of {tuple(allowed.shape)} does not broadcast to scores of {needed}",
        where="mask",
        remedy="its axes are (batch, heads, query, key), each of the scores' size or 1",
    )
