"""Inputs put together for prediction so that an answer hardly depends on its neighbours, or not at all.

In a shared batch each input is padded to a length that it alone decides, only inputs of one such length are
put together, and batches are filled up to a multiple of 8 rows: then most products round a row alike in any
company. Most, not all: which kernel a library takes depends on the number of rows and on the processor. An
input that is `ALONE` has no neighbours, so that its answer is the same to the last bit on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from regard.data.batches import key_bucket

ROWS = 8
ALONE = 0  # tokens a batch: no room for anybody else


@final
@dataclass(frozen=True)
class Group:
    """Some inputs of one padded length; `filled` repeats the first until the rows come in eights."""

    members: tuple[int, ...]
    length: int
    multiple: int

    @property
    def filled(self) -> tuple[int, ...]:
        """The members, and enough repeats to make the number of rows a multiple of 8."""
        missing = -len(self.members) % self.multiple
        return (*self.members, *(self.members[0],) * missing)


def groups(lengths: Sequence[int], tokens: int) -> Iterator[Group]:
    """All inputs, longest first, so that a batch too large for the machine fails at once; or each `ALONE`."""
    buckets: dict[int, list[int]] = {}
    for number, length in enumerate(lengths):
        buckets.setdefault(key_bucket(length), []).append(number)
    for length in sorted(buckets, reverse=True):
        multiple = 1 if tokens == ALONE else ROWS
        size = max(multiple, tokens // length // multiple * multiple)
        members = buckets[length]
        for start in range(0, len(members), size):
            yield Group(tuple(members[start : start + size]), length, multiple)


def crowds(lengths: Sequence[int], tokens: int, most: int) -> Iterator[Group]:
    """All inputs, longest first, in full batches of like lengths: for models that need no filling up."""
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    start = 0
    while start < len(order):
        length = lengths[order[start]]
        end = start + max(1, min(most, tokens // length))
        yield Group(tuple(order[start:end]), length, 1)
        start = end
