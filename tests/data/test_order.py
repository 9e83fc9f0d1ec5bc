"""The shuffle is a bijection, a pure function of its key, and as good as random."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.order import LARGEST, permuted
from regard.errors import UsageError

SEEDS = st.integers(0, 2**64)
EPOCHS = st.integers(0, 2**20)


def whole(count: int, seed: int, epoch: int, stream: int = 0) -> list[int]:
    return permuted(np.arange(count), count, seed, epoch, stream).tolist()


@settings(max_examples=60, deadline=None)
@given(count=st.integers(1, 5000), seed=SEEDS, epoch=EPOCHS)
def test_every_element_appears_exactly_once(count, seed, epoch):
    assert sorted(whole(count, seed, epoch)) == list(range(count))


@pytest.mark.parametrize(
    "count", [1, 2, 3, 5, 1023, 1024, 1025, 2048, 2049, 4095, 4096, 4097, 65_537]
)
def test_around_powers_of_two(count):
    assert sorted(whole(count, 3, 1)) == list(range(count))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_position_alone_is_the_position_among_all(data):
    count = data.draw(st.integers(2, 3000))
    at = data.draw(st.lists(st.integers(0, count - 1), max_size=20))
    everything = whole(count, 5, 2)
    assert permuted(np.array(at, np.int64), count, 5, 2).tolist() == [everything[i] for i in at]


@pytest.mark.parametrize("count", [2**31 + 11, 10**12, LARGEST - 1, LARGEST])
def test_far_beyond_memory(count):
    ends = np.concatenate([np.arange(10_007), np.arange(count - 10_007, count)])
    places = permuted(ends, count, 7, 0)
    assert len(np.unique(places)) == len(ends)
    assert places.min() >= 0
    assert places.max() < count
    # Neighbours are scattered: the mean of 20,014 uniform places is within 6 of its deviations.
    assert abs(places.mean() / count - 0.5) < 6 / np.sqrt(12 * len(ends))


def test_each_part_of_the_key_matters():
    for count in (101, 2003):
        keys = [(1, 0), (1, 1), (2, 0), (1, 0, 1), (1, 10), (11, 0)]
        orders = [whole(count, *key) for key in keys]
        assert len({tuple(order) for order in orders}) == len(orders)
        assert whole(count, 1, 0) == orders[0]


def chi_square(counts: Counter, kinds: int) -> float:
    expected = counts.total() / kinds
    seen = sum((count - expected) ** 2 / expected for count in counts.values())
    return seen + (kinds - len(counts)) * expected


def test_all_orders_of_four_are_equally_likely():
    counts = Counter(tuple(whole(4, 17, epoch)) for epoch in range(2400))
    assert len(counts) == 24
    assert chi_square(counts, 24) < 54.0  # 23 degrees of freedom, one in 3,000


@pytest.mark.parametrize("count", [73, 1_168_000])
def test_an_element_is_equally_likely_to_stand_anywhere(count):
    elements = np.array([0, count // 2, count - 1])
    places = np.array([permuted(elements, count, seed, 5) for seed in range(1460)])
    for column in (places * 73 // count).T.tolist():
        assert chi_square(Counter(column), 73) < 119.0  # 72 degrees of freedom, one in 2,500


def test_neighbours_do_not_stay_neighbours():
    steps = np.diff(permuted(np.arange(10_007), 10_007, 23, 4))
    # Two elements drawn without replacement follow each other with chance 1 / 10,007.
    assert np.count_nonzero(steps == 1) < 8


def test_what_cannot_be_shuffled():
    with pytest.raises(UsageError, match=r"cannot shuffle 0 things: between 1 and 2\^40 can be"):
        permuted(np.arange(0), 0, 1, 1)
    with pytest.raises(UsageError):
        permuted(np.arange(1), LARGEST + 1, 1, 1)
    with pytest.raises(IndexError, match=r"outside range\(5\)"):
        permuted(np.array([5]), 5, 1, 1)
    with pytest.raises(IndexError):
        permuted(np.array([-1]), 5, 1, 1)
    assert permuted(np.arange(0), 5, 1, 1).tolist() == []
