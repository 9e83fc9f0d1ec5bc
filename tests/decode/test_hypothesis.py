"""A hypothesis knows how likely it is."""

import math

import pytest

from regard.decode import Hypothesis
from regard.decode.hypothesis import NOTHING


def test_probabilities_multiply():
    half = math.log(0.5)
    found = Hypothesis((3, 5), (half, half, half), -1.0, "end")

    assert found.log_probability == pytest.approx(math.log(0.125))
    assert found.probability == pytest.approx(0.125)


def test_nothing_is_no_output_and_says_why():
    assert Hypothesis((), (), -math.inf, "numerics", 0) == NOTHING
