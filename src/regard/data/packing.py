"""Rows end to end in a row of fixed size: one shape for every batch, and almost no padding.

The one idea: rows come in shuffled order, and each batch takes as many as fit on both sides. The sides get
sizes in the proportion that the corpus has, so that they fill up together.
"""

from __future__ import annotations

from typing import final

import numpy as np
from jaxtyping import Int

from regard.attention.packed import TILE, tiled
from regard.data.batches import BatchRows, BatchSettings, Plan, Shape, none_left

CHUNK = 1 << 20
ROOM = 1.25  # times as many rows as a batch has on average
SLACK = 1.03, 8  # times as many tiles of the work, and so many more
SAMPLE = 8192  # rows


@final
class PackedPlan(Plan):
    """`tokens` places on the side that has more of them; `sentences` bounds the rows of a batch.

    Room is laid out for the corpus at most, however large the settings are.
    """

    def __init__(
        self,
        source: Int[np.ndarray, " corpus"],
        target: Int[np.ndarray, " corpus"],
        settings: BatchSettings,
        seed: int,
    ) -> None:
        self.settings, self.seed, self.count = settings, seed, len(source)
        self.windows = -(-self.count // settings.window)
        self._source, self._target = source, target
        places, self._kept, self._longest = self._survey()
        if not self._kept:
            raise none_left(self.count, settings.max_length)
        self._budget = min(settings.tokens, max(places))
        usual = self._budget * self._kept / max(places)
        most = -(-round(ROOM * usual) // TILE) * TILE
        if settings.sentences is not None:
            most = min(settings.sentences, self._kept)
        source_size, target_size = (self._size(side, max(places)) for side in places)
        self.shapes = (Shape(source_size, target_size, most),)
        self._tiles = self._room_for_tiles(max(places) / self._kept)

    @property
    def skipped(self) -> int:
        """How many rows are longer than `max_length` on a side, and so in no batch."""
        return self.count - self._kept

    @property
    def waste(self) -> float:
        """The share of empty places in the first window of the first epoch; others are alike."""
        (shape,) = self.shapes
        batches = self.batches(0, 0)
        rows = np.concatenate([batch.rows for batch in batches])
        real = int(self._source[rows].sum(dtype=np.int64) + self._target[rows].sum(dtype=np.int64))
        return 1 - real / (len(batches) * (shape.source + shape.target))

    def batches(self, window: int, epoch: int) -> list[BatchRows]:
        """In shuffled order, each as full as it gets."""
        (shape,) = self.shapes
        rows = self.shuffled(window, epoch)
        rows = rows[self._fits(rows)]
        sides = (
            (self._source[rows].cumsum(), shape.source),
            (self._target[rows].cumsum(), shape.target),
        )
        joined, start = [], 0
        while start < len(rows):
            ends = [start + shape.rows]
            for places, size in sides:
                before = int(places[start - 1]) if start else 0
                ends.append(int(np.searchsorted(places, before + size, side="right")))
            some = self._within(rows[start : min(*ends, len(rows))])
            joined.append(BatchRows(some, shape.source, shape.target, shape.rows, self._tiles))
            start += len(some)
        return joined

    def batches_in(self, window: int, epoch: int) -> int:
        """Known when they are formed."""
        return len(self.batches(window, epoch))

    def _within(self, rows: Int[np.ndarray, " rows"]) -> Int[np.ndarray, " fewer"]:
        """As many of the first as there is room for in tiles of the work: nearly always all."""
        (shape,) = self.shapes
        while (wanted := self._count(rows, shape.source, shape.target)) > self._tiles:
            rows = rows[: len(rows) - max(1, len(rows) * (wanted - self._tiles) // wanted)]
        return rows

    def _count(self, rows: Int[np.ndarray, " rows"], source: int, target: int) -> int:
        return len(tiled([self._source[rows], self._target[rows]], [source, target])[0])

    def _room_for_tiles(self, places_a_row: float) -> int:
        """A little more than the batches of a sample need, and what one with a single row needs."""
        rows = self.shuffled(0, 0)[:SAMPLE]
        rows = rows[self._fits(rows)]
        sizes = (int(side[rows].sum()) for side in (self._source, self._target))
        usual = self._count(rows, *sizes) / max(1, len(rows)) * self._budget / places_a_row
        factor, more = SLACK
        (shape,) = self.shapes
        least = -(-max(shape.source, shape.target) // TILE) + -(-self._longest // TILE) + 1
        return max(least, round(factor * usual) + more)

    def _fits(self, rows: slice | Int[np.ndarray, " rows"]) -> np.ndarray:
        longest = self.settings.max_length
        return (self._source[rows] <= longest) & (self._target[rows] <= longest)

    def _survey(self) -> tuple[tuple[int, int], int, int]:
        """Places that the rows need on each side, how many rows can be used, and the longest side of one."""
        source = target = kept = longest = 0
        for start in range(0, self.count, CHUNK):
            part = slice(start, start + CHUNK)
            fits = self._fits(part)
            source += int(self._source[part].sum(where=fits, dtype=np.int64))
            target += int(self._target[part].sum(where=fits, dtype=np.int64))
            kept += int(fits.sum())
            for side in (self._source, self._target):
                longest = max(longest, int(side[part].max(where=fits, initial=0)))
        return (source, target), kept, longest

    def _size(self, places: int, most: int) -> int:
        """A side's share of the budget, in whole tiles, and never too small for the longest row."""
        share = self.settings.tokens * places / most
        tiles = min(round(share / TILE), -(-places // TILE))
        return TILE * max(1, tiles, -(-self._longest // TILE))
