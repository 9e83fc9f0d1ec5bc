"""Which rows form batch k of epoch e: little padding, few shapes, one order for every world size.

The one idea: a row's padded shape depends on that row alone, chosen from a short list that was
fitted to the corpus; so padding is known beforehand, and an epoch is only an order. The rows are
shuffled by a key, cut into windows, grouped by shape inside a window, cut into batches of one
shape, and the batches of a window are shuffled again. All of it is a pure function of
(lengths, settings, seed, epoch): nothing is stored, and any batch can be reached from its number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Int
from pydantic import Field, model_validator

from regard.config import Settings
from regard.data.order import Shapes, permuted, rounded_up
from regard.errors import DataError, ResumeError, UsageError

LENGTH = 256  # symbols of the longest row, where nobody says another


@final
class BatchSettings(Settings):
    """How rows are put together. `tokens` counts padded places on the longer of the two sides.

    So a batch holds at most `tokens` source places and at most `tokens` target places, and the
    number means the same for a model that has only one side. With `packed`, rows lie end to end
    instead of side by side: one shape for all batches, and almost no padding.
    """

    tokens: int = Field(default=4096, ge=1)
    """The largest number of places of a batch, padding included, on the longer side: 1,000 to 50,000."""
    max_length: int = Field(default=LENGTH, ge=1)
    """Examples with more symbols than this on either side are left out: 64 to 1,024."""
    sentences: int | None = Field(default=None, ge=1)
    """The largest number of examples in a batch: 8 to 1,024. By default only tokens counts."""
    buckets: int = Field(default=64, ge=1, le=1024)
    """The largest number of shapes that batches have: 8 to 256."""
    window: int = Field(default=262_144, ge=1)
    """The number of examples that are shuffled and batched at a time: 10,000 or more."""
    packed: bool = False
    """Whether examples lie end to end, in one shape with almost no padding: for Transformers that
    translate."""

    @model_validator(mode="before")
    @classmethod
    def _shorten_the_default(cls, given: Any) -> Any:
        """Where batches are smaller than the default length and none is given, a row may fill a batch."""
        tokens = given.get("tokens") if isinstance(given, dict) else None
        if isinstance(tokens, int) and 1 <= tokens < LENGTH and "max_length" not in given:
            return {**given, "max_length": tokens}
        return given

    @model_validator(mode="after")
    def _fits_the_budget(self) -> BatchSettings:
        if self.max_length > self.tokens:
            raise ValueError(
                f"max_length = {self.max_length} is more than tokens = {self.tokens}: a row must fit "
                "into a batch"
            )
        return self


def key_bucket(length: int) -> int:
    """The padded length of one sentence's keys when nothing may depend on its neighbours.

    A multiple of 8 that this sentence alone decides: strict mode batches only within a bucket.
    """
    return rounded_up(length, least=8)


@final
@dataclass(frozen=True)
class Shape:
    """Padded lengths of both sides, and how many rows a full batch of them has."""

    source: int
    target: int
    rows: int


@final
@dataclass(frozen=True, eq=False)
class BatchRows:
    """Some rows of one padded shape. No rows at all is a rank's turn to wait for the others.

    Packed rows share the two lengths, which have room for `packed` rows and `tiles` of the work on them.
    """

    rows: Int[np.ndarray, " rows"]
    source_length: int
    target_length: int
    packed: int = 0
    tiles: int = 0

    @property
    def tokens(self) -> int:
        """Padded places on the longer side: what the budget counts."""
        longer = max(self.source_length, self.target_length)
        return longer if self.packed else len(self.rows) * longer

    def split(self, tokens: int) -> tuple[BatchRows, ...]:
        """The same rows in order, in pieces of at most `tokens` (but never less than one row)."""
        size = max(1, tokens // max(1, self.source_length, self.target_length))
        return tuple(
            BatchRows(self.rows[start : start + size], self.source_length, self.target_length)
            for start in range(0, max(1, len(self.rows)), size)
        )


class Plan(ABC):
    """The batches of a corpus, epoch by epoch, each a pure function of the lengths and the seed."""

    seed: int
    count: int  # rows of the corpus
    windows: int  # parts of an epoch that are shuffled and batched one after the other
    shapes: tuple[Shape, ...]

    @property
    @abstractmethod
    def skipped(self) -> int:
        """How many rows are longer than `max_length` on a side, and so in no batch."""

    @property
    @abstractmethod
    def waste(self) -> float:
        """The share of places that hold padding."""

    @abstractmethod
    def batches(self, window: int, epoch: int) -> list[BatchRows]:
        """The batches of one window, as they were formed; an epoch shuffles them."""

    @abstractmethod
    def batches_in(self, window: int, epoch: int) -> int:
        """How many batches a window has."""

    def epoch(self, number: int) -> EpochPlan:
        """The batches of one pass over the corpus."""
        return EpochPlan(self, number)

    def shuffled(self, window: int, epoch: int) -> Int[np.ndarray, " rows"]:
        """The rows of one window of an epoch."""
        start = self.count * window // self.windows
        stop = self.count * (window + 1) // self.windows
        return permuted(np.arange(start, stop), self.count, self.seed, epoch)


def none_left(count: int, max_length: int) -> DataError:
    """No row fits."""
    return DataError(
        f"0 of {count} rows left: {count} are longer than {max_length}",
        where="max_length",
        remedy="raise max_length, or look at the data: are there any line breaks?",
    )


@final
class PaddedPlan(Plan):
    """Rows side by side, filled up to one of a few shapes. Lengths are what the model sees, specials counted.

    `target` is None where a row has one side only (tags, labels, plain lines).
    """

    def __init__(
        self,
        source: Int[np.ndarray, " corpus"],
        target: Int[np.ndarray, " corpus"] | None,
        settings: BatchSettings,
        seed: int,
    ) -> None:
        assert target is None or len(source) == len(target), "the sides differ in their rows"
        self.settings, self.seed, self.count = settings, seed, len(source)
        # Equal windows: a short last one would be full of half-empty batches.
        self.windows = -(-self.count // settings.window)
        # One more shape means one more half-empty batch in each window, worth a quarter of a full one.
        charge = settings.tokens // 4 * self.windows
        self._fitted = Shapes(source, target, settings.max_length, settings.buckets, charge)
        self.shapes = tuple(Shape(*pair, rows=self._full(max(pair))) for pair in self._fitted.pairs)
        if self.skipped == self.count:
            raise none_left(self.count, settings.max_length)

    @property
    def skipped(self) -> int:
        """How many rows are longer than `max_length` on a side, and so in no batch."""
        return self._fitted.skipped

    @property
    def waste(self) -> float:
        """The share of places that hold padding; a row's shape is its own, so it never changes."""
        return self._fitted.waste

    def batches(self, window: int, epoch: int) -> list[BatchRows]:
        """Rows of one shape, as many as fit."""
        rows, shape = self._window(window, epoch)
        rows = rows[np.argsort(shape, kind="stable")]
        ends = np.bincount(shape, minlength=len(self.shapes)).cumsum().tolist()
        return [
            BatchRows(rows[begin : min(begin + kind.rows, end)], kind.source, kind.target)
            for kind, start, end in zip(self.shapes, [0, *ends], ends, strict=False)
            for begin in range(start, end, kind.rows)
        ]

    def batches_in(self, window: int, epoch: int) -> int:
        """Counted by shape, without forming them."""
        rows = np.bincount(self._window(window, epoch)[1], minlength=len(self.shapes))
        full = np.array([kind.rows for kind in self.shapes])
        return int((-(-rows // full)).sum())

    def _window(
        self, window: int, epoch: int
    ) -> tuple[Int[np.ndarray, " kept"], Int[np.ndarray, " kept"]]:
        """The rows of one window in shuffled order, and the number of each row's shape."""
        rows = self.shuffled(window, epoch)
        shape = self._fitted.of(rows)
        kept = shape >= 0
        return rows[kept], shape[kept]

    def _full(self, longer: int) -> int:
        """Rows of a full batch: what the budget allows, in eights where there is room for that."""
        rows = self.settings.tokens // longer
        if self.settings.sentences is not None:
            rows = min(rows, self.settings.sentences)
        return rows // 8 * 8 if rows >= 8 else rows


@final
class EpochPlan:
    """One epoch: a sequence of global batches, the same for every number of ranks."""

    def __init__(self, plan: Plan, number: int) -> None:
        self._plan, self._number = plan, number
        self._counts: list[int] = []  # batches a window, as far as anyone has asked

    def __len__(self) -> int:
        """How many global batches; the first call looks at every row's length once."""
        return sum(self._count(window) for window in range(self._plan.windows))

    def __iter__(self) -> Iterator[BatchRows]:
        return self.batches()

    def batches(self, start: int = 0, *, rank: int = 0, world: int = 1) -> Iterator[BatchRows]:
        """From global batch `start` on, every `world`-th batch beginning with the `rank`-th.

        All ranks get equally many: where the epoch ends inside a round, the last get empty ones.
        """
        if not 0 <= rank < world:
            raise UsageError(
                f"there is no rank {rank} in a world of {world}",
                where="rank",
                remedy="give a rank from 0 to world - 1",
            )
        first, window = start, 0
        while window < self._plan.windows and first >= self._count(window):
            first -= self._count(window)
            window += 1
        if first and window == self._plan.windows:
            raise ResumeError(
                f"epoch {self._number} has {len(self)} batches, so none at {start}",
                where=f"batch {start}",
                remedy="the data or batch.tokens changed: begin a new run in another folder",
            )
        turn = 0
        for number in range(window, self._plan.windows):
            for batch in self._window(number)[first if number == window else 0 :]:
                if turn == rank:
                    yield batch
                turn = (turn + 1) % world
        if 0 < turn <= rank:
            smallest = self._plan.shapes[0]
            yield BatchRows(np.empty(0, np.int64), smallest.source, smallest.target)

    def _window(self, window: int) -> list[BatchRows]:
        batches = self._plan.batches(window, self._number)
        if not batches:
            return []
        numbers = np.arange(len(batches))
        order = permuted(numbers, len(batches), self._plan.seed, self._number, stream=window + 1)
        return [batches[number] for number in order.tolist()]

    def _count(self, window: int) -> int:
        for number in range(len(self._counts), window + 1):
            self._counts.append(self._plan.batches_in(number, self._number))
        return self._counts[window]
