"""Numbers and points as text: read again, they are the same to the last bit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.run.problem import written
from regard.tasks.point import items_of

NUMBER = st.floats(allow_nan=False, allow_infinity=False)
POINT = st.tuples(NUMBER, NUMBER)


@given(numbers=st.lists(NUMBER, min_size=1))
def test_a_list_of_numbers_is_one_problem(numbers):
    assert items_of(written(numbers, 1)) == [[number] for number in numbers]


@given(points=st.lists(POINT, min_size=1))
def test_a_list_of_points_is_one_problem(points):
    assert items_of(written(points, 2)) == [list(point) for point in points]


@pytest.mark.parametrize(("items", "features"), [(NUMBER, 1), (POINT, 2)])
@given(data=st.data())
def test_lists_of_either_are_several(items, features, data):
    problems = data.draw(st.lists(st.lists(items, min_size=1), min_size=1))
    assert written(problems, features) == [written(one, features) for one in problems]


def test_text_stays_as_it_is():
    assert written("0.3 0.1", 1) == "0.3 0.1"
    assert written(["0.3 0.1", [0.5]], 1) == ["0.3 0.1", "0.5"]
    assert written([], 1) == []
