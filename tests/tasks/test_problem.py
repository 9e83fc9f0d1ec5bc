"""What is asked is checked; numbers and points as text, read again, are the same to the last bit."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.question import listed, single, written
from regard.tasks.point import LARGEST, items_of

NUMBER = st.floats(-LARGEST, LARGEST)
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


@pytest.mark.parametrize("kind", [np.array, torch.tensor, lambda rows: map(np.array, rows)])
@pytest.mark.parametrize(("features", "several"), [(1, [2, 3]), (2, [2, 3, 2]), (3, [5, 2, 3])])
def test_arrays_are_read_as_lists_are(kind, features, several):
    problems = (np.arange(np.prod(several), dtype=np.float32).reshape(several) / 8).tolist()
    assert written(kind(problems), features) == written(problems, features)
    assert written(kind(problems[0]), features) == written(problems[0], features)


def test_numbers_with_an_axis_of_their_own():
    several = np.array([[0.5, 0.25], [1, 2]])
    assert written(several[:, :, None], 1) == written(several, 1) == ["0.5 0.25", "1.0 2.0"]
    with pytest.raises(UsageError, match="a column of 5 numbers is one problem, or 5 of") as caught:
        written(np.zeros((5, 1)), 1)
    assert caught.value.remedy == "one: .reshape(5); several: .reshape(5, 1, 1)"


@pytest.mark.parametrize("features", [1, 2])
@pytest.mark.parametrize(
    "wrong", [None, 3, 0.5, b"0.3", {"a": 1}, [None], [[None]], [[[[0.5]]]], np.zeros(()), [{}]]
)
def test_what_is_no_problem_is_refused(wrong, features):
    with pytest.raises(UsageError) as caught:
        written(wrong, features)
    assert caught.value.where == "problems"
    assert caught.value.remedy.startswith("give a list of ")


def test_points_are_asked_for_where_numbers_came():
    with pytest.raises(UsageError, match="whose items have 2 numbers each") as caught:
        written([0.5, 0.25], 2)
    assert caught.value.remedy == "give a list of points, or a list of such lists"


@pytest.mark.parametrize(
    "texts", [["a", "b"], ("a", "b"), np.array(["a", "b"]), iter("ab"), {"a": 1, "b": 2}.keys()]
)
def test_texts_come_in_many_ways(texts):
    assert listed(texts) == ["a", "b"]
    assert listed(np.str_("a b")) == ["a b"]
    assert listed([]) == []


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (None, "texts cannot be None"),
        (3, "texts cannot be an int"),
        (b"a", "texts cannot be a bytes"),
        (Path("new.en"), "texts cannot be a PosixPath"),
        (np.array([["a"]]), "texts cannot be a ndarray of shape (1, 1)"),
        (["a", None], "text 2 is None, not a string"),
        (["a", "b", float("nan")], "text 3 is a float, not a string"),
        ([["a"]], "text 1 is a list, not a string"),
    ],
)
def test_what_is_no_text_is_refused(wrong, what):
    with pytest.raises(UsageError) as caught:
        listed(wrong)
    assert caught.value.what == what
    assert caught.value.remedy == "give a string, or a list of strings"


def test_one_text_is_looked_into_at_a_time():
    assert single("a b") == "a b"
    with pytest.raises(UsageError, match="and this is a list"):
        single(["a b"])
