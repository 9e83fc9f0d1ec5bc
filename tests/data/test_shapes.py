"""The shapes hold every row, each row takes its cheapest, and few shapes do nearly what is possible."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import order
from regard.data.order import Shapes, rounded_up

PAIRS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=60)


def sides(pairs):
    return (np.array(side, np.int32) for side in zip(*pairs, strict=True))


def places(pairs, chosen) -> int:
    """All padded places when each row takes the cheapest pair that holds it."""
    return sum(min(s + t for s, t in chosen if s >= a and t >= b) for a, b in pairs)


@settings(max_examples=60, deadline=None)
@given(PAIRS, st.integers(1, 6), st.integers(5, 40))
def test_each_row_takes_its_cheapest_shape(pairs, limit, max_length):
    source, target = sides(pairs)
    found = Shapes(source, target, max_length, limit, charge=0)
    taken = found.of(np.arange(len(pairs))).tolist()
    assert len(found.pairs) <= limit
    for (a, b), number in zip(pairs, taken, strict=True):
        if max(a, b) > max_length:
            assert number == -1
        else:
            holds = [s + t for s, t in found.pairs if s >= a and t >= b]
            assert sum(found.pairs[number]) == min(holds)
    assert found.skipped == taken.count(-1)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 16), st.integers(1, 16)), min_size=1, max_size=30))
def test_the_second_shape_is_the_best_of_those_that_rows_have(pairs):
    source, target = sides(pairs)
    found = Shapes(source, target, 16, limit=2, charge=0)
    corner = (max(a for a, _ in pairs), max(b for _, b in pairs))
    assert corner in found.pairs
    best = min(places(pairs, [corner, other]) for other in pairs)
    real = sum(map(sum, pairs))
    if found.waste > order.ENOUGH:
        assert places(pairs, found.pairs) == best
    assert found.waste == pytest.approx(1 - real / places(pairs, found.pairs))


def optimal_waste(lengths, limit: int) -> float:
    """The least padding that `limit` lengths allow, by dynamic programming over all of them."""
    most = int(lengths.max())
    below = np.concatenate([[0], np.bincount(lengths, minlength=most + 1).cumsum()])
    cost = below[1:] * np.arange(most + 1.0)
    for _ in range(limit - 1):
        cost = np.array(
            [
                min([cost[e], *(cost[:e] + (below[e + 1] - below[1 : e + 1]) * e)])
                for e in range(most + 1)
            ]
        )
    return 1 - lengths.sum() / cost[most]


@pytest.mark.parametrize("limit", [4, 8, 16])
def test_nearly_as_good_as_the_best_lengths(limit):
    lengths = np.exp(np.random.default_rng(5).normal(3, 0.6, 4001)).astype(np.int64).clip(1, 120)
    found = Shapes(lengths, None, 120, limit, charge=0)
    assert {target for _, target in found.pairs} == {0}
    best = optimal_waste(lengths, limit)
    assert best - 1e-9 <= found.waste < 1.25 * best


def test_a_shape_must_save_more_than_it_costs():
    lengths = np.array([1] * 10 + [11], np.int32)  # a second shape saves 100 places
    assert Shapes(lengths, None, 16, 9, charge=99).pairs == [(1, 0), (11, 0)]
    assert Shapes(lengths, None, 16, 9, charge=100).pairs == [(11, 0)]


def test_the_survey_does_not_depend_on_its_chunks(monkeypatch):
    source, target = np.random.default_rng(2).integers(1, 60, (2, 997))
    whole = Shapes(source, target, 50, 7, charge=10)
    monkeypatch.setattr(order, "CHUNK", 31)
    parts = Shapes(source, target, 50, 7, charge=10)
    assert (parts.pairs, parts.skipped, parts.waste) == (whole.pairs, whole.skipped, whole.waste)


@given(st.integers(1, 10**6))
def test_the_grid_is_fine_and_idempotent(length):
    up = rounded_up(length)
    assert length <= up < length * 9 / 8 + 1
    assert rounded_up(up) == up
