"""Where the toys in the box look, held to where each thing was drawn or said; their cards say how often."""

import numpy as np
import pytest

from regard import box
from regard.answer.predictor import Predictor
from regard.data.source import understand
from regard.traces.word_times import monotony
from tests.box.test_shipped import HERE
from tests.learn.test_looking import digits_hit, named_words

pytestmark = pytest.mark.skipif("shapes" not in box.names(), reason="no toys are in the box")
ASKED = 40


def test_words_of_colour_look_at_their_shape_and_words_of_form_do_so_less_often():
    model = Predictor.load("shapes", "cpu", looking=True)
    found = named_words(model.run, model.run.load_model().eval(), ASKED)
    assert np.mean(found["colour"]) >= 0.9
    assert 0.5 < np.mean(found["form"]) < 0.8  # by chance it would be 0.16
    limits = " ".join(box.card("shapes").limits)
    assert "98%" in limits
    assert "61%" in limits


def test_digits_are_read_where_they_stand_and_from_left_to_right():
    run = Predictor.load("digits", "cpu", looking=True).run
    found = digits_hit(run, run.load_model().eval(), ASKED)
    assert found["hit"] >= 95
    assert found["left to right"] >= 90


def test_spoken_digits_are_heard_one_after_the_other():
    model = Predictor.load("spoken-digits", "cpu", looking=True)
    sounds = [one.sound for one in understand([HERE / "spoken"]).examples()]
    found = [monotony(model.look(sound)) for sound in sounds]
    assert len(found) >= 10
    assert np.mean([one for one in found if np.isfinite(one)]) >= 0.95
