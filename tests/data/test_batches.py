"""Every row once an epoch, in one order for any number of ranks, in few shapes with little padding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import parse
from regard.data.batches import BatchRows, BatchSettings, PaddedPlan, key_bucket
from regard.data.order import rounded_up
from regard.errors import DataError, ResumeError, UsageError


@st.composite
def corpora(draw):
    """Small corpora, with and without a target side, from one window to many."""
    count = draw(st.integers(1, 400))
    draws = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    source = draws.integers(1, draw(st.integers(2, 60)), count).astype(np.int32)
    target = draws.integers(0, 45, count).astype(np.int32) if draw(st.booleans()) else None
    max_length = draw(st.integers(20, 60))
    source[0] = 1  # so that one row is left
    if target is not None:
        target[0] = 1
    wanted = BatchSettings(
        tokens=draw(st.integers(max_length, 700)),
        max_length=max_length,
        sentences=draw(st.none() | st.integers(1, 40)),
        buckets=draw(st.integers(1, 9)),
        window=draw(st.integers(20, 500)),
    )
    return source, target, wanted, draw(st.integers(0, 99))


def rows_of(batches) -> list[list[int]]:
    return [batch.rows.tolist() for batch in batches]


def fits(source, target, max_length: int) -> list[int]:
    longer = source if target is None else np.maximum(source, target)
    return np.flatnonzero(longer <= max_length).tolist()


@settings(max_examples=60, deadline=None)
@given(corpora(), st.integers(0, 5))
def test_every_row_that_fits_is_seen_exactly_once(made, epoch):
    plan, (source, target, *_) = PaddedPlan(*made), made
    seen = [row for rows in rows_of(plan.epoch(epoch)) for row in rows]
    expected = fits(source, target, plan.settings.max_length)
    assert sorted(seen) == expected
    assert plan.skipped == len(source) - len(expected)


@settings(max_examples=60, deadline=None)
@given(corpora())
def test_budget_shapes_and_padding(made):
    plan, (source, target, *_) = PaddedPlan(*made), made
    shapes = {(shape.source, shape.target): shape.rows for shape in plan.shapes}
    assert len(shapes) <= plan.settings.buckets
    real = padded = 0
    for batch in plan.epoch(0):
        shape = (batch.source_length, batch.target_length)
        assert 1 <= len(batch.rows) <= shapes[shape]
        assert len(batch.rows) <= (plan.settings.sentences or len(source))
        assert batch.tokens == len(batch.rows) * max(shape) <= plan.settings.tokens
        assert source[batch.rows].max() <= batch.source_length
        real += source[batch.rows].sum()
        if target is None:
            assert batch.target_length == 0
        else:
            assert target[batch.rows].max() <= batch.target_length
            real += target[batch.rows].sum()
        padded += len(batch.rows) * sum(shape)
    assert plan.waste == pytest.approx(1 - real / padded)


@settings(max_examples=40, deadline=None)
@given(corpora(), st.integers(1, 4))
def test_any_world_takes_the_same_batches_in_the_same_order(made, world):
    """T6: step s of a world of w takes batches s*w ... s*w + w - 1 of the one global order."""
    plan = PaddedPlan(*made)
    alone = rows_of(plan.epoch(1))
    ranks = [rows_of(plan.epoch(1).batches(rank=rank, world=world)) for rank in range(world)]
    assert len({len(rank) for rank in ranks}) == 1
    together = [rows for step in zip(*ranks, strict=True) for rows in step]
    assert together[: len(alone)] == alone
    assert all(rows == [] for rows in together[len(alone) :])
    assert len(together) - len(alone) < world


@settings(max_examples=40, deadline=None)
@given(corpora(), st.integers(0, 10**6), st.integers(1, 3))
def test_resuming_gives_the_same_tail(made, at, world):
    """T6: stopped after `at` batches in any world, continued in another."""
    plan = PaddedPlan(*made)
    alone = rows_of(plan.epoch(2))
    start = at % (len(alone) + 1)
    assert len(plan.epoch(2)) == len(alone)
    assert rows_of(plan.epoch(2).batches(start)) == alone[start:]
    last = rows_of(plan.epoch(2).batches(start, rank=world - 1, world=world))
    expected = alone[start + world - 1 :: world]
    assert last[: len(expected)] == expected


def test_every_epoch_and_every_seed_has_its_own_order():
    """T23: stopping at an epoch's end does not bring the first order back."""
    lengths = np.random.default_rng(0).integers(3, 40, 997).astype(np.int32)
    wanted = BatchSettings(tokens=512, max_length=64)
    orders = [
        str(rows_of(PaddedPlan(lengths, lengths, wanted, seed).epoch(epoch)))
        for seed, epoch in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    ]
    assert len(set(orders)) == len(orders)


def test_batches_are_not_sorted_by_length():
    lengths = np.random.default_rng(1).integers(3, 60, 3989).astype(np.int32)
    plan = PaddedPlan(lengths, None, BatchSettings(tokens=256, max_length=64), 3)
    order = [batch.source_length for batch in plan.epoch(0)]
    ranks = np.argsort(np.argsort(order, kind="stable"), kind="stable")
    assert abs(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]) < 4 / np.sqrt(len(ranks))


def sentences(count: int, spread: float = 0.6):
    """Sentence lengths as corpora have them: lognormal, mean 25, sides that follow each other."""
    draws = np.random.default_rng(7)
    source = np.exp(draws.normal(np.log(25) - spread**2 / 2, spread, count))
    target = 1.05 * source * np.exp(draws.normal(0, 0.2, count))
    return (np.maximum(1, side.round()).astype(np.int32) for side in (source, target))


def test_little_padding_in_few_shapes():
    source, target = sentences(100_003)
    plan = PaddedPlan(source, target, BatchSettings(), 0)
    assert plan.waste < 0.08
    assert len(plan.shapes) <= 64
    coarse = PaddedPlan(source, target, BatchSettings(buckets=24), 0)
    assert coarse.waste < 0.13
    assert len(coarse.shapes) <= 24
    one_side = PaddedPlan(source, None, BatchSettings(), 0)
    assert one_side.waste < 0.045
    assert len(one_side.shapes) <= 32
    full = sum(batch.tokens for batch in plan.epoch(0)) / (4096 * len(plan.epoch(0)))
    assert full > 0.9


def test_a_small_corpus_is_not_cut_into_crumbs():
    source, target = sentences(2003)
    plan = PaddedPlan(source, target, BatchSettings(tokens=25_000), 0)
    assert len(plan.epoch(0)) <= 2 * (int(np.maximum(source, target).sum()) // 25_000 + 1)


def test_rows_come_in_eights_where_the_budget_has_room():
    source, target = sentences(5003)
    plan = PaddedPlan(source, target, BatchSettings(tokens=2048), 0)
    assert {shape.rows % 8 for shape in plan.shapes} == {0}
    few = PaddedPlan(source, None, BatchSettings(sentences=5), 0)
    assert {shape.rows for shape in few.shapes} == {5}


def test_splitting_a_batch_keeps_rows_and_order():
    """T10: the pieces of a batch that did not fit are the batch."""
    batch = BatchRows(np.arange(23), 7, 11)
    pieces = batch.split(60)
    assert rows_of(pieces) == [batch.rows[start : start + 5].tolist() for start in range(0, 23, 5)]
    assert all(piece.tokens <= 60 and piece.source_length == 7 for piece in pieces)
    assert rows_of(batch.split(1)) == [[row] for row in range(23)]
    assert rows_of(BatchRows(np.arange(0), 3, 5).split(60)) == [[]]


@given(st.integers(0, 10**5))
def test_a_key_bucket_is_a_near_multiple_of_eight(length):
    bucket = key_bucket(length)
    assert bucket % 8 == 0
    assert length <= bucket < max(length * 9 / 8 + 1, length + 8, 9)
    assert key_bucket(bucket) == bucket
    assert key_bucket(length + 1) >= bucket
    assert length <= rounded_up(length) <= bucket


def test_nothing_left():
    long = np.full(812, 300, np.int32)
    with pytest.raises(DataError) as caught:
        PaddedPlan(long, long, BatchSettings(), 0)
    assert caught.value.what == "0 of 812 rows left: 812 are longer than 256"
    with pytest.raises(DataError, match="0 of 0 rows left"):
        PaddedPlan(long[:0], None, BatchSettings(), 0)


def test_wrong_questions():
    lengths = np.full(10, 5, np.int32)
    plan = PaddedPlan(lengths, None, BatchSettings(tokens=256), 0)
    with pytest.raises(ResumeError, match="epoch 3 has 1 batches, so none at 2"):
        next(plan.epoch(3).batches(2))
    assert list(plan.epoch(3).batches(1)) == []
    with pytest.raises(UsageError, match="there is no rank 2 in a world of 2"):
        next(plan.epoch(0).batches(rank=2, world=2))
    with pytest.raises(
        UsageError, match=r"max_length = 65 is more than tokens = 64: a row must fit into a batch"
    ):
        parse(BatchSettings, {"tokens": 64, "max_length": 65})
