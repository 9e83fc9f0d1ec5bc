"""Examples side by side as tensors, padded on the right; questions in groups that spare their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Int, Integer, UInt8
from torch import Tensor

from regard.attention import Packing
from regard.data.batches import key_bucket
from regard.layers import Source
from regard.models.encoder import Padded
from regard.question import SOURCE
from regard.text import BEGIN, PAD


@final
@dataclass(frozen=True, eq=False)
class Batch:
    """What a model reads (`sources`), what it has said so far (`inputs`), and what is right (`targets`).

    `count` is how many targets are judged: losses are summed, then divided by the count of a whole step.
    """

    sources: Mapping[str, Padded]
    inputs: Int[Tensor, "batch target"] | None
    targets: Int[Tensor, batch * target]
    count: int
    packing: Packing | None = None  # where sequences that share one row lie

    @classmethod
    def of(
        cls,
        source: Source,
        lengths: Int[Tensor, " batch"] | None,
        inputs: Int[Tensor, "batch target"] | None,
        targets: Int[Tensor, batch * target],
        count: int,
        packing: Packing | None = None,
    ) -> Batch:
        """A batch of the one source that nearly every task has."""
        return cls({SOURCE: Padded(source, lengths)}, inputs, targets, count, packing)

    @property
    def source(self) -> Source:
        """The only source."""
        (only,) = self.sources.values()
        return only.values

    @property
    def lengths(self) -> Int[Tensor, " batch"] | None:
        """How much of each row of the only source is real; None: all of it."""
        (only,) = self.sources.values()
        return only.lengths

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors but the packing's, always in the same order."""
        sources = (tensor for source in self.sources.values() for tensor in source)
        return tuple(t for t in (*sources, self.inputs, self.targets) if t is not None)

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device; copies run beside the computation where they can."""
        packing = None if self.packing is None else self.packing.to(device, non_blocking=True)
        return self._mapped(lambda tensor: tensor.to(device, non_blocking=True), packing)

    def pinned(self) -> Batch:
        """The same batch in memory that a GPU reads by itself, while the processor goes on."""
        packing = None if self.packing is None else self.packing.pinned()
        return self._mapped(Tensor.pin_memory, packing)

    def _mapped(self, move: Callable[[Tensor], Tensor], packing: Packing | None) -> Batch:
        sources = {
            name: Padded(move(one.values), None if one.lengths is None else move(one.lengths))
            for name, one in self.sources.items()
        }
        inputs = None if self.inputs is None else move(self.inputs)
        return Batch(sources, inputs, move(self.targets), self.count, packing)

    def __len__(self) -> int:
        return len(self.targets)


def padded(rows: Sequence[np.ndarray], length: int, fill: int) -> Int[Tensor, "batch length"]:
    """Rows of ids in one rectangle."""
    table = np.full((len(rows), length), fill, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return torch.from_numpy(table)


def framed(
    rows: Sequence[np.ndarray], length: int, features: int
) -> Float[Tensor, "batch length features"] | UInt8[Tensor, "batch length features"]:
    """Rows of frames in one box; pixels stay bytes, a quarter of what floats would be."""
    is_bytes = bool(rows) and rows[0].dtype == np.uint8
    box = np.zeros((len(rows), length, features), dtype=np.uint8 if is_bytes else np.float32)
    for number, row in enumerate(rows):
        box[number, : len(row)] = row
    return torch.from_numpy(box)


def side_by_side(rows: Sequence[np.ndarray], length: int) -> Padded:
    """One source of a batch, ids or frames, and how much of each row is real."""
    length = max(length, *map(len, rows)) if rows else length
    is_frames = bool(rows) and rows[0].ndim == 2
    values = framed(rows, length, rows[0].shape[1]) if is_frames else padded(rows, length, PAD)
    return Padded(values, lengths_of(rows, length))


def lengths_of(rows: Sequence[np.ndarray], length: int) -> Int[Tensor, " batch"] | None:
    """How many places of each row are real; None when all are, which spares the model a mask."""
    lengths = [len(row) for row in rows]
    return None if all(one == length for one in lengths) else torch.tensor(lengths)


def joined(rows: Sequence[Mapping[str, np.ndarray]]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Rows end to end, as a store joins them: the values of each column, and the length of each row."""
    return {
        side: (
            np.concatenate([row[side] for row in rows]),
            np.array([len(row[side]) for row in rows]),
        )
        for side in rows[0]
    }


def filled(values: Integer[np.ndarray, " places"], size: int, fill: int) -> Int[Tensor, "1 size"]:
    """One row of `size` places, the first of them these."""
    row = np.full((1, size), fill, np.int64)
    row[0, : len(values)] = values
    return torch.from_numpy(row)


def shifted(targets: Sequence[np.ndarray], length: int, begin: int = BEGIN) -> Int[Tensor, "b t"]:
    """Teacher forcing: at each step the model has said what was right one step before."""
    return padded([np.concatenate(([begin], row[:-1])) for row in targets], length, PAD)


# Inputs put together for prediction so that an answer hardly depends on its neighbours, or not at all.
# In a shared batch each input is padded to a length that it alone decides, only inputs of one such length
# are put together, and batches are filled up to a multiple of 8 rows: then most products round a row alike
# in any company. Most, not all: which kernel a library takes depends on the number of rows and on the
# processor. An input that is `ALONE` has no neighbours, so that its answer is the same to the last bit on
# every machine.

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
