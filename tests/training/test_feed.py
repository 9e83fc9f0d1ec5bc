"""Which rows a process works on: one global order for any number of processes, resumable anywhere."""

from itertools import islice

import pytest
import torch

from regard.data.batches import BatchSettings
from regard.run.folder import Run
from regard.tasks import IGNORE
from regard.training.feed import Feed, Position
from regard.training.world import World
from tests.training.kit import tiny


@pytest.fixture(scope="module")
def run(quick_path_factory) -> Run:
    folder = quick_path_factory()
    return Run.create(folder / "run", tiny(folder))


START = Position()


def feed(run: Run, rank: int = 0, size: int = 1, tokens: int = 40) -> Feed:
    world = World(rank, size, torch.device("cpu"))
    settings = BatchSettings(tokens=tokens, max_length=16)
    return Feed(run.task, run.store("train"), settings, 3, world)


def rows_of(turn) -> list[list[int]]:
    return [piece.rows.tolist() for piece in turn.pieces]


def steps(run: Run, size: int, a_step: int, count: int, start: Position = START):
    """The batches of each step in their global order, and where reading stands after it."""
    found = []
    feeds = [feed(run, rank, size) for rank in range(size)]
    turns = [islice(one.turns(start, a_step, 0), count) for one in feeds]
    for together in zip(*turns, strict=True):
        places = {turn.after for turn in together}
        assert len(places) == 1  # all processes agree on it
        batches = [rows for number in zip(*map(rows_of, together), strict=True) for rows in number]
        found.append(([rows for rows in batches if rows], places.pop()))
    return found


@pytest.mark.parametrize(("size", "a_step"), [(2, 2), (2, 4), (3, 3), (4, 4), (3, 12), (4, 12)])
def test_any_number_of_processes_takes_the_same_steps(run, size, a_step):  # T6, T19
    count = 3 * len(feed(run).plan.epoch(0)) // a_step
    assert steps(run, size, a_step, count) == steps(run, 1, a_step, count)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_reading_goes_on_from_any_position_as_if_it_had_never_stopped(run, size):
    straight = steps(run, size, 2, 40)
    for stop in (0, 6, 13, 27):
        after = straight[stop][1]
        assert steps(run, size, 2, 39 - stop, after) == straight[stop + 1 :]


def test_the_end_of_an_epoch_is_the_beginning_of_the_next(run):
    plan = feed(run).plan
    found = [after for _, after in steps(run, 1, 1, 2 * len(plan.epoch(0)))]
    assert found[len(plan.epoch(0)) - 1] == Position(1, 0)
    assert all(after.batch < len(plan.epoch(after.epoch)) for after in found)


def test_each_epoch_has_its_own_order_also_after_stopping_at_its_end(run):  # T23
    count = len(feed(run).plan.epoch(0))
    epochs = []
    for epoch in range(3):
        taken = steps(run, 1, 1, count, Position(epoch))
        assert taken[-1][1] == Position(epoch + 1)
        epochs.append([rows for batches, _ in taken for rows in batches])
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    for order in epochs:
        assert sorted(row for rows in order for row in rows) == list(range(48))


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_once_gives_each_row_to_one_process(run, size):  # T22
    counts, rows = [], []
    for rank in range(size):
        mine = feed(run, rank, size)
        batches = list(mine.once())
        counts.append(len(batches))
        rows += [
            row
            for piece in mine.plan.epoch(0).batches(rank=rank, world=size)
            for row in piece.rows.tolist()
        ]
    assert sorted(rows) == list(range(48))
    assert len(set(counts)) == 1  # or some would wait for ever


def test_an_empty_turn_judges_nothing(run):
    mine = [feed(run, rank, 5) for rank in range(5)]
    empty = [batch for one in mine for batch in one.once() if batch.count == 0]
    assert empty
    assert all(batch.targets.eq(IGNORE).all() for batch in empty)


def test_the_rows_of_a_step_are_those_of_all_processes(run):
    one = feed(run)
    before = Position()
    for batches, after in steps(run, 2, 6, 15):
        assert one.rows_between(before, after) == [row for rows in batches for row in rows]
        before = after


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_change_nothing(run, workers):
    mine = feed(run)
    alone = [rows_of(turn) for turn in islice(mine.turns(Position(), 2, 0), 20)]
    turns = mine.turns(Position(), 2, workers)
    assert [rows_of(turn) for turn in islice(turns, 20)] == alone
    turns.close()
