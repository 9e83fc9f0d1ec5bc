import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.show.colour import BLOCKS
from regard.show.dashboard import curve, thinned

unhurried = settings(deadline=None)
VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


def heights(lines):
    """How many eighths each column is filled, counted from the bottom."""
    return [sum(map(BLOCKS.index, column)) for column in zip(*lines, strict=True)]


@given(VALUES, st.integers(1, 5))
@unhurried
def test_a_higher_value_is_never_drawn_lower(values, height):
    drawn = heights(curve(values, height))
    assert len(drawn) == len(values)
    ordered = sorted(zip(values, drawn, strict=True))
    assert [tall for _, tall in ordered] == sorted(drawn)
    assert min(drawn) == 1
    assert max(drawn) == (8 * height if max(values) > min(values) else 1)


@given(VALUES)
@unhurried
def test_columns_are_filled_from_below_without_holes(values):
    for column in zip(*curve(values, 3), strict=True):
        assert "".join(column).lstrip(" ")[1:].strip("█") == ""


def test_a_straight_line_is_straight():
    assert curve([float(n) for n in range(8)]) == ["▁▂▃▄▅▆▇█"]
    assert curve([1.0, 0.0], 2) == ["█ ", "█▁"]
    assert curve([], 2) == ["", ""]


@given(VALUES, st.integers(1, 20))
@unhurried
def test_thinning_keeps_order_and_ends_within_the_values(values, width):
    thin = thinned(values, width)
    assert len(thin) == min(width, len(values))
    assert min(values) - 1e-6 <= min(thin)
    assert max(thin) <= max(values) + 1e-6
    if width >= len(values):
        assert thin == values


def test_thinning_takes_means_of_neighbours():
    assert thinned([1.0, 3.0, 5.0, 7.0], 2) == [2.0, 6.0]
    assert thinned([1.0, math.nan, 3.0, math.inf], 5) == [1.0, 3.0]
    assert thinned([], 5) == pytest.approx([])
