"""Positions of the input as the output."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data.example import Pointed
from regard.decode import DecodeSettings
from regard.errors import DataError, ModelFileError
from regard.tasks import TASKS, Point
from regard.tasks.point import LARGEST, Seen, items_of
from regard.text import TextSettings
from tests.tasks.kit import EXAMPLES, batch_of, model_of, task_of

numbers = st.floats(-LARGEST, LARGEST)


ROWS = [Pointed(((0.5, 2.0), (0.25, 7.0)), (0, 1)), Pointed(((1.0, -3.0),) * 4, (0,))]


def test_it_remembers_between_which_numbers_it_learned_and_how_many():
    task = Point.learn(lambda: iter(ROWS), TextSettings())
    assert task.seen == Seen(2, 4, (0.25, -3.0), (1.0, 7.0))
    again = Point.from_dict(task.to_dict())
    assert (again.features, again.seen) == (2, task.seen)
    assert again.unlike("0.5,0 1,7 0.25,-3", ()) is None
    for text in ("0.5,0 1.01,0", "0.5,0 1,-3.5"):
        assert "numbers between" in again.unlike(text, ())
    assert again.unlike("0.5,0", ()) == "it learned from rows of 2 to 4 items: this is a guess"
    assert "rows of 2 to 4" in again.unlike(" ".join(["0.5,0"] * 5), ())


def test_runs_made_before_it_remembered_say_nothing():
    assert Point.from_dict({"features": "2"}).unlike("1e9,0 5,5", ()) is None


@pytest.mark.parametrize(
    "document",
    [
        "",
        "[]",
        "{}",
        '{"fewest": 1, "most": 2, "lowest": [0.0], "highest": [1.0]}',
        '{"fewest": 1, "most": 2, "lowest": [0.0, "a"], "highest": [1.0, 2.0]}',
        '{"fewest": 1, "most": 2, "lowest": [0.0, 1.0], "highest": [1.0, 2.0], "more": 1}',
    ],
)
def test_a_damaged_memory_is_refused(document):
    with pytest.raises(ModelFileError):
        Point.from_dict({"features": "2", "seen": document})


@given(st.lists(st.tuples(numbers, numbers), max_size=6))
def test_a_question_gives_the_very_numbers_again(items):
    text = task_of("point").question(Pointed(tuple(items), ()))
    assert [tuple(item) for item in items_of(text)] == items


def test_places_count_from_one_and_stop_at_zero():
    (row,) = task_of("point").rows(EXAMPLES["point"][:1])
    assert row["target"].tolist() == [2, 1, 3, 0]
    assert np.array_equal(row["source"], np.float32([[0.5, 0.1], [0.2, 0.75], [0.9, 0.3]]))


def test_no_place_is_pointed_at_twice_and_all_exist():
    task, model = task_of("point"), model_of("point")
    questions = [task.question(example) for example in EXAMPLES["point"]]
    for settings in (DecodeSettings(beam=1), DecodeSettings(beam=3)):
        found = task.predict(model, questions, settings)
        for answer, example in zip(found, EXAMPLES["point"], strict=True):
            places = [int(name) for name in answer.text.split()]
            assert len(set(places)) == len(places)
            assert set(places) <= set(range(len(example.items)))


def test_smoothing_would_ask_for_places_already_taken_and_is_left_out():
    task, model, batch = task_of("point"), model_of("point"), batch_of("point")
    loss = task.loss(model, batch, smoothing=0.4)
    assert torch.isfinite(loss)
    assert torch.equal(loss, task.loss(model, batch))


@pytest.mark.parametrize("text", ["a b", "0.1,,0.2 1,2", "0.1;0.2"])
def test_what_is_no_list_of_items_is_said(text):
    with pytest.raises(DataError) as caught:
        task_of("point").predict(model_of("point"), [text], DecodeSettings(beam=1))
    assert caught.value.what == f"'{text}' is no list of items"


def test_items_of_another_width_are_refused():
    with pytest.raises(DataError, match="an item has 2 numbers here, and one has 3"):
        task_of("point").predict(model_of("point"), ["1,2,3"], DecodeSettings(beam=1))


@pytest.mark.parametrize("width", ["0", "-1", "2.0", "٣", "99999", ""])
def test_a_width_that_is_none_is_refused(width):
    with pytest.raises(ModelFileError, match="no number of features"):
        Point.from_dict({"features": width})


def test_nothing_to_learn_from_is_said():
    with pytest.raises(DataError, match="no example at all"):
        TASKS["point"].learn(lambda: iter([]), task_of("translate").source.settings)


@pytest.mark.parametrize("text", ["0.1 nan", "0.1 inf", "0.1,0.2 0.3,-inf", "0.1 -1e39"])
def test_numbers_without_a_place_are_refused(text):
    with pytest.raises(DataError, match="item 2 is not finite"):
        items_of(text)
