"""Length penalties, and the bound that makes stopping early exact."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.decode import DecodeSettings
from regard.decode.hypothesis import best_to_come, divisor, hypothesis

KINDS = ("none", "average", "gnmt")


@pytest.mark.parametrize(
    ("kind", "expected"), [("none", 1.0), ("average", 7**0.6), ("gnmt", 2**0.6)]
)
def test_divisors_at_length_seven(kind, expected):
    """(5 + 7) / 6 = 2."""
    assert divisor(7, kind, 0.6) == pytest.approx(expected)
    assert divisor(torch.tensor([7, 7]), kind, 0.6).tolist() == pytest.approx([expected] * 2)


@pytest.mark.parametrize("kind", KINDS)
def test_an_alpha_of_nothing_is_no_penalty(kind):
    assert divisor(11, kind, 0.0) == 1.0


@given(
    st.sampled_from(KINDS),
    st.floats(0, 3),
    st.floats(-50, 0),
    st.lists(st.floats(-9, 0), min_size=1, max_size=8),
    st.integers(1, 5),
)
def test_nothing_that_follows_beats_the_bound(kind, alpha, total, steps, spoken):
    longest = spoken + len(steps)
    totals = torch.tensor([[total]], dtype=torch.float64)
    bound = best_to_come(totals, longest, kind, alpha).item()
    for taken in range(1, len(steps) + 1):
        score = (total + sum(steps[:taken])) / divisor(spoken + taken, kind, alpha)
        assert score <= bound + 1e-12


def test_a_hypothesis_leaves_its_end_off_and_counts_what_was_found():
    path = [(4, 0.0), (3, -1.0), (2, -0.5), (0, -0.5)]
    settings = DecodeSettings(penalty="average", alpha=1.0)

    ended = hypothesis(path, -2.0, "end", 1, settings)
    assert ended.tokens == (4, 3, 2)
    assert ended.log_probabilities == (-1.0, -0.5, -0.5)
    assert ended.score == pytest.approx(-2.0 / 3)
    assert hypothesis(path[:3], -1.5, "length", 1, settings).tokens == (4, 3, 2)
