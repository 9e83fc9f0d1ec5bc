import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.evaluate import metric
from regard.evaluate.metric import bootstrap, percent, wilson

Z = 1.959963984540054  # the 97.5% point of the normal distribution


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_ends_solve_the_score_equation(case):
    """The ends are the p for which |share - p| is exactly z standard errors of p itself."""
    right, total = case
    for end in wilson(right, total):
        p = end / 100
        assert (right / total - p) ** 2 == pytest.approx(Z * Z * p * (1 - p) / total, abs=1e-9)
        assert 0 <= end <= 100


def test_wilson_when_all_are_right_is_n_over_n_plus_z_squared():
    low, high = wilson(50, 50)
    assert low == pytest.approx(100 * 50 / (50 + Z * Z))
    assert high == pytest.approx(100)
    assert wilson(0, 50) == pytest.approx((0, 100 * Z * Z / (50 + Z * Z)))


def test_bootstrap_of_a_mean_has_the_width_theory_gives():
    right = np.array([1] * 700 + [0] * 300)
    counts = np.stack([right, np.ones_like(right)], axis=1)
    low, high = bootstrap(counts, lambda sums: percent(sums[:, 0], sums[:, 1]))
    width = 100 * 2 * Z * math.sqrt(0.7 * 0.3 / 1000)
    assert high - low == pytest.approx(width, rel=0.1)
    assert (low + high) / 2 == pytest.approx(70, abs=0.5)


def test_equal_sentences_leave_no_doubt():
    counts = np.array([[3, 4]] * 7)
    assert bootstrap(counts, lambda sums: percent(sums[:, 0], sums[:, 1])) == (75.0, 75.0)


def test_the_interval_does_not_depend_on_how_resamples_are_chunked(monkeypatch):
    counts = np.array([[number % 3, 2] for number in range(101)])

    def ends():
        return bootstrap(counts, lambda sums: percent(sums[:, 0], sums[:, 1]))

    whole = ends()
    monkeypatch.setattr(metric, "_CHUNK", 101 * 13)
    assert ends() == whole


def test_percent_of_nothing_is_not_a_number():
    assert np.isnan(percent(np.array([0, 3]), np.array([0, 4]))).tolist() == [True, False]
