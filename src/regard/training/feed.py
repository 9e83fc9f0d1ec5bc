"""From a stored corpus to batches: which rows, in which order, made ready ahead of time."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass, replace
from functools import reduce
from itertools import islice
from typing import Any, final

import numpy as np

from regard.attention import Room
from regard.data.batches import BatchRows, BatchSettings, PaddedPlan, Plan
from regard.data.loader import prefetch
from regard.data.packing import PackedPlan
from regard.data.store import Store
from regard.run.corpus import Corpus, refuse_empty
from regard.run.folder import Report
from regard.run.settings import RunSettings
from regard.tasks import IGNORE, TASKS, Batch, Task
from regard.training.world import World


@final
@dataclass(frozen=True)
class Position:
    """How far training has read: `batch` global batches into epoch `epoch`, which then has more of them."""

    epoch: int = 0
    batch: int = 0


@final
@dataclass(frozen=True, eq=False)
class Turn:
    """What one step of one process works on, and where reading stands after it."""

    pieces: tuple[BatchRows, ...]
    batches: tuple[Batch, ...]
    after: Position


def plan_for(
    task: Task, lengths: Callable[[str], np.ndarray], settings: BatchSettings, seed: int
) -> Plan:
    """Which rows share a batch: decided by the sides that have lengths of their own."""
    if settings.packed and task.packs:
        return PackedPlan(lengths("source"), lengths("target"), settings, seed)
    longer = lengths("target")
    if task.sides != "target":  # of several sources, the longest decides
        longer = reduce(np.maximum, map(lengths, task.sources))
    return PaddedPlan(longer, lengths("target") if task.sides == "both" else None, settings, seed)


@final
class Feed:
    """Batches of a corpus for this process."""

    def __init__(
        self, task: Task, store: Store, settings: BatchSettings, seed: int, world: World
    ) -> None:
        self.task, self.store, self.world = task, store, world
        self.plan = plan_for(task, store.lengths, settings, seed)
        self.longest = settings.max_length

    def turns(
        self, start: Position, batches_a_step: int, workers: int
    ) -> Generator[Turn, None, None]:
        """Step after step, epoch after epoch, without end."""
        mine = -(-batches_a_step // self.world.size)
        work = self._work(start, mine)
        yield from prefetch(self._ready, work, workers, max(2, 2 * workers), _told)

    def once(self) -> Iterator[Batch]:
        """Every row of the corpus, each on one process only."""
        for piece in self.plan.epoch(0).batches(rank=self.world.rank, world=self.world.size):
            yield self.make(piece)

    def rows_between(self, before: Position, after: Position) -> list[int]:
        """The rows that all processes together read in a step."""
        plan = self.plan.epoch(before.epoch)
        end = after.batch if after.epoch == before.epoch else len(plan)
        pieces = islice(plan.batches(before.batch), end - before.batch)
        return [int(row) for piece in pieces for row in piece.rows]

    def make(self, piece: BatchRows) -> Batch:
        """The rows of one piece as a batch; no rows at all are one row that nothing judges."""
        if not len(piece.rows):
            return self._nothing()
        source, target = piece.source_length, piece.target_length
        if piece.packed:
            joined, room = self.store.joined(piece.rows), Room(piece.packed, piece.tiles)
            return self.task.pack(joined, (source, target), room, self.longest)
        columns = self.store.rows(piece.rows)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        if self.task.sides == "target":
            source, target = 0, piece.source_length
        return self.task.collate(rows, source, target)

    def _nothing(self) -> Batch:
        """A rank whose turn is empty still takes part, with a gradient of 0."""
        some = next(iter(self.plan.epoch(0)))
        batch = self.make(replace(some, rows=some.rows[:1]))
        return replace(batch, targets=batch.targets.fill_(IGNORE), count=0)

    def _work(self, start: Position, mine: int) -> Iterator[tuple[tuple[BatchRows, ...], Position]]:
        epoch, done = start.epoch, start.batch
        while True:
            plan = self.plan.epoch(epoch)
            pieces = plan.batches(done, rank=self.world.rank, world=self.world.size)
            chosen = tuple(islice(pieces, mine))
            while chosen:
                # Looking one turn ahead tells the end; to count an epoch would be to go through all of it.
                following = tuple(islice(pieces, mine))
                done += len(chosen) * self.world.size
                yield chosen, Position(epoch, done) if following else Position(epoch + 1)
                chosen = following
            epoch, done = epoch + 1, 0

    def _ready(self, item: tuple[tuple[BatchRows, ...], Position]) -> Turn:
        pieces, after = item
        batches = (self.make(piece) for piece in pieces)
        if self.world.device.type == "cuda":
            batches = (batch.pinned() for batch in batches)
        return Turn(pieces, tuple(batches), after)


def _told(item: tuple[tuple[BatchRows, ...], Position]) -> str:
    rows = [int(row) for piece in item[0] for row in piece.rows]
    more = f" and {len(rows) - 8} more" if len(rows) > 8 else ""
    return f"rows {', '.join(map(str, rows[:8]))}{more} of the training data"


# What training would make of a corpus: how text is cut, how long rows are, how batches fill.

SHOWN = 3
PERCENTILES = (50, 90, 99, 100)


@final
@dataclass(frozen=True)
class Preview:
    """`lengths` has the percentiles of each side, `cut` the pieces of each side of the first rows."""

    vocabulary: dict[str, int]
    cut: tuple[dict[str, tuple[str, ...]], ...]
    lengths: dict[str, dict[int, int]]
    examples: int
    skipped: int
    shapes: int
    waste: float
    batches: int
    steps_an_epoch: int
    epochs: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def preview(settings: RunSettings, report: Report | None = None) -> Preview:
    """Learn the vocabulary, go over the training examples once, and plan an epoch; nothing is kept."""
    report = report or (lambda _what, _done: None)
    corpus = Corpus.of(settings.data, settings.task)
    task = TASKS[settings.task].learn_from(
        lambda: corpus.examples("train"),
        settings,
        lambda done: report("learning the vocabulary", done),
    )
    first = task.rows(list(islice(corpus.examples("train"), SHOWN)))
    lengths = _lengths(task, corpus, report)
    plan = plan_for(task, lengths.__getitem__, settings.batch, settings.seed)
    batches = len(plan.epoch(0))
    steps = -(-batches // settings.train.accumulate)
    epochs = settings.train.steps / steps
    sides = {"source": task.sources, "target": ("target",), "both": (*task.sources, "target")}[
        task.sides
    ]
    return Preview(
        vocabulary=_vocabulary(task),
        cut=tuple(task.pieces_of(row) for row in first),
        lengths={side: _percentiles(lengths[side]) for side in sides},
        examples=plan.count,
        skipped=plan.skipped,
        shapes=len(plan.shapes),
        waste=plan.waste,
        batches=batches,
        steps_an_epoch=steps,
        epochs=min(epochs, float(settings.train.epochs or epochs)),
    )


def _lengths(task: Task, corpus: Corpus, report: Report) -> dict[str, np.ndarray]:
    """Four bytes an example and side; specials counted, as the model will see them."""
    columns = {side: array("i") for side in (*task.sources, "target")}
    examples = corpus.examples("train")
    while chunk := list(islice(examples, task.chunk)):
        for row in task.rows(chunk):
            for side, lengths in columns.items():
                lengths.append(len(row[side]))
        report("measuring lengths", len(columns["target"]))
    refuse_empty("train", len(columns["target"]))
    return {side: np.frombuffer(lengths, np.int32) for side, lengths in columns.items()}


def _percentiles(lengths: np.ndarray) -> dict[int, int]:
    values = np.percentile(lengths, PERCENTILES, method="inverted_cdf")
    return dict(zip(PERCENTILES, values.astype(int).tolist(), strict=True))


def _vocabulary(task: Task) -> dict[str, int]:
    sizes = task.sizes
    if sizes.shared:
        return {"shared": sizes.target}
    sources = {name: one.symbols for name, one in sizes.sources.items()} or {"source": sizes.source}
    named = {**sources, "target": sizes.target, "labels": sizes.labels}
    return {name: size for name, size in named.items() if size}
