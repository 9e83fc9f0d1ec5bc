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
from regard.tasks.point import LARGEST, items_of
from tests.tasks.kit import EXAMPLES, batch_of, model_of, task_of

numbers = st.floats(-LARGEST, LARGEST)


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
