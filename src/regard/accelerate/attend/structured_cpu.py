"""Windows and strides on a CPU without the pairs that nobody may see (Child 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.formula import AttendForm, attend_part
from regard.attention.mask import Both, Mask, Moved, Strided
from regard.attention.memory import Memory
from regard.attention.score import DotScore

if TYPE_CHECKING:
    from regard.attention.attention import Attention


FAR = 1 << 40


@final
@dataclass(frozen=True)
class Banded(AttendForm):
    """Parts of at least `least` queries, for fewer cost more calls than keys; cut where `gain` times fewer
    keys are left.
    """

    least: int = 64
    gain: int = 2

    def takes(self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None) -> bool:
        """Whether most keys are out of reach; random weights are left alone: parts would draw others."""
        if mask is None or attention.bias is not None:
            return False
        if query.is_cuda or attention.normaliser.is_random:
            return False
        return self.gain * _reach(mask, self._queries(query, mask)) <= memory.key.shape[2]

    def attend(
        self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
    ) -> Float[Tensor, "b h query value_width"]:
        """Part by part."""
        assert mask is not None
        parts = self._parts(query, memory, mask)
        return torch.cat([attend_part(attention, *part, part[1].mask) for part in parts], 2)

    def _parts(self, query: Tensor, memory: Memory, mask: Mask) -> Iterator[tuple[Tensor, Memory]]:
        """Neighbouring queries and the memory they reach: one key at least, even if the mask forbids it."""
        keys, first = memory.key.shape[2], memory.first
        for part in query.split(self._queries(query, mask), 2):
            last = first + part.shape[2]
            begin, end = mask.span(first, last)
            begin = max(0, min(begin, keys - 1))
            reached = slice(begin, max(begin + 1, min(end, keys)))
            key, value = memory.key[:, :, reached], memory.value[:, :, reached]
            yield part, Memory(key, value, Moved(mask, begin), first)
            first = last

    def _queries(self, query: Tensor, mask: Mask) -> int:
        """Half as many as one of them reaches keys."""
        return min(query.shape[2], max(self.least, _reach(mask, 1) // 2))


def _reach(mask: Mask, queries: int) -> int:
    """How many keys so many neighbours reach, where neither end of the text is near."""
    begin, end = mask.span(FAR, FAR + queries)
    return end - begin


# Strides without the pairs between them: n times (n / stride + stride) instead of n times n (Child 2019).
# Positions that are whole strides apart are the columns of the text written in lines of `stride` words;
# near ones stand in the same line or in the next. So a query has two short rows of scores, one along its
# column and one along its lines, and one normaliser over both.


@final
@dataclass(frozen=True)
class Lines:
    """A text of `length` words in `count` lines of `width`; its words look `ahead` lines further, 0 or 1."""

    length: int
    count: int
    width: int
    ahead: int

    @classmethod
    def of(cls, mask: Mask, length: int) -> Lines | None:
        """How a mask with strides in it has the text written; None if there are none."""
        parts = mask.parts if isinstance(mask, Both) else (mask,)
        width = next((part.stride for part in parts if isinstance(part, Strided)), None)
        if width is None:
            return None
        _, end = mask.span(FAR, FAR + 1)
        return cls(length, -(-length // width), width, int(end > FAR + 1))

    @property
    def reach(self) -> int:
        """Near words: the line before, its own, and perhaps the next."""
        return (2 + self.ahead) * self.width

    def written(self, states: Tensor) -> Float[Tensor, "b h line place width"]:
        """The states in lines; the last one is filled up with zeros."""
        room = self.count * self.width - self.length
        return F.pad(states, (0, 0, 0, room)).unflatten(2, (self.count, self.width))

    def near(self, written: Tensor) -> Float[Tensor, "b h line near width"]:
        """For each line the states of the lines around it."""
        flat = written.flatten(2, 3)
        around = F.pad(flat, (0, 0, self.width, self.ahead * self.width))
        return around.unfold(2, self.reach, self.width).mT

    def allowed(self, mask: Mask, query: Tensor, some: slice) -> Bool[Tensor, "#b #h query keys"]:
        """Whom the words of some lines may see, in their columns and near; who is in both is near."""
        device = query.device
        lines = torch.arange(self.count, device=device) * self.width
        first = lines[some].view(-1, 1, 1)
        place = torch.arange(self.width, device=device).view(1, -1, 1)
        reader, column = first + place, place + lines
        near = first - self.width + torch.arange(self.reach, device=device)
        wide = (len(first), self.width, -1)
        key = torch.cat([column.expand(*wide), near.expand(*wide)], -1)
        real = (key >= 0) & (key < self.length) & (reader < self.length)
        is_near = torch.arange(key.shape[-1], device=device) >= self.count
        once = is_near | ((reader - key).abs() > self.width)
        row = torch.arange(query.shape[0], device=device).view(-1, 1, 1, 1, 1)
        head = torch.arange(query.shape[1], device=device).view(1, -1, 1, 1, 1)
        inside = (where.clamp(0, self.length - 1) for where in (reader, key))
        return ((real & once)[None, None] & mask.allows(row, head, *inside)).flatten(2, 3)


@final
@dataclass(frozen=True)
class StridedLines(AttendForm):
    """Where `gain` times fewer pairs are left; at most `at_once` scores at a time, more take memory."""

    gain: int = 4
    at_once: int = 1 << 22

    def takes(self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None) -> bool:
        """Whether a text reads itself in strides, and few enough of its pairs are left."""
        if mask is None or attention.bias is not None:
            return False
        length = query.shape[2]
        itself = length == memory.key.shape[2] and memory.first == 0
        if query.is_cuda or not itself or not isinstance(attention.score, DotScore):
            return False
        lines = None if attention.normaliser.is_random else Lines.of(mask, length)
        return lines is not None and self.gain * (lines.count + lines.reach) <= length

    def attend(
        self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
    ) -> Float[Tensor, "b h query value_width"]:
        """normalise(q' . k' scale) v along columns and lines, some lines at a time."""
        assert mask is not None
        score, lines = attention.score, Lines.of(mask, query.shape[2])
        assert isinstance(score, DotScore)
        assert lines is not None
        scaled = lines.written(score.adapt(query) * score.scale(memory.key.shape[-1]))
        key, value = lines.written(memory.key), lines.written(memory.value)
        near_key, near_value = lines.near(key), lines.near(value)
        each = query.shape[:2].numel() * lines.width * (lines.count + lines.reach)
        step, contexts = max(1, self.at_once // max(1, each)), []
        for first in range(0, lines.count, step):
            some = slice(first, first + step)
            own = scaled[:, :, some]
            along = (own.transpose(2, 3) @ key.transpose(2, 3).mT).transpose(2, 3)
            scores = torch.cat([along, own @ near_key[:, :, some].mT], -1)
            weights = attention.normaliser(scores.flatten(2, 3), lines.allowed(mask, query, some))
            weights = F.dropout(weights, attention.dropout, attention.training).view(scores.shape)
            along, around = weights.split([lines.count, lines.reach], -1)
            context = (along.transpose(2, 3) @ value.transpose(2, 3)).transpose(2, 3)
            contexts.append((context + around @ near_value[:, :, some]).flatten(2, 3))
        return torch.cat(contexts, 2)[:, :, : lines.length]
