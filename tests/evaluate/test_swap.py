"""A paired test by swaps: against the exact binomial, and where its answer is known."""

from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import DataError
from regard.evaluate import exact_match
from regard.evaluate.swap import SWAPS, paired_counts

METRIC = exact_match(["a"], ["a"])


def p_value(right_a, right_b):
    return paired_counts(METRIC, METRIC, right_a, right_b).p_value


@settings(deadline=None, max_examples=40)
@given(wins=st.integers(0, 15), losses=st.integers(0, 15), ties=st.integers(1, 5))
def test_for_right_and_wrong_it_is_the_sign_test(wins, losses, ties):
    """Swapping pairs that disagree is tossing a coin for each, so chances are binomial."""
    right_a = [0] * wins + [1] * losses + [1] * ties
    right_b = [1] * wins + [0] * losses + [1] * ties
    tosses, observed = wins + losses, abs(wins - losses)
    exact = sum(comb(tosses, k) for k in range(tosses + 1) if abs(2 * k - tosses) >= observed)
    assert p_value(right_a, right_b) == pytest.approx(exact / 2**tosses, abs=0.025)


def test_equal_systems_differ_by_luck_alone():
    assert p_value([3, 0, 2], [3, 0, 2]) == 1.0


def test_a_clear_winner_is_no_luck():
    found = paired_counts(METRIC, METRIC, [0] * 40, [1] * 40)
    assert found.p_value == 1 / (SWAPS + 1)
    assert found.significant
    assert found.test == "randomisation"


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20))
def test_either_may_come_first(pairs):
    right_a, right_b = zip(*pairs, strict=True)
    assert p_value(right_a, right_b) == p_value(right_b, right_a)


def test_different_tests_cannot_be_compared():
    with pytest.raises(DataError, match="do not pair up"):
        p_value([1], [1, 0])
