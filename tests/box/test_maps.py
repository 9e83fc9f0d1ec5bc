"""Where the toys in the box look, held to where each thing was drawn or said; their cards say how often."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

import regard
from regard import box
from regard.answer.predictor import Predictor
from regard.answer.studies import senses
from regard.data import png
from regard.data.source import understand
from regard.data.toys.drawings import COLOURS, painted, scene
from regard.errors import UsageError
from regard.question import Image, Question, Sound
from regard.traces.word_times import monotony
from tests.box.test_shipped import HERE
from tests.learn.test_looking import digits_hit, named_cells
from tests.learn.test_senses import parted

pytestmark = pytest.mark.skipif("shapes" not in box.names(), reason="no toys are in the box")
ASKED = 40


def test_words_of_colour_and_form_look_at_the_shape_they_name():
    model = Predictor.load("shapes", "cpu", looking=True)
    found: dict[str, list[bool]] = {"colour": [], "form": []}
    for number in range(ASKED):
        things = scene(Random(f"looked at {number}"))
        for word, place, own in named_cells(model.look(png.url(painted(things))), things):
            found["colour" if word in COLOURS else "form"].append(bool(own[place]))
    assert np.mean(found["colour"]) >= 0.9  # by chance it would be 0.16
    assert np.mean(found["form"]) >= 0.9
    limits = " ".join(box.card("shapes").limits)
    assert "94.5%" in limits
    assert "96%" in limits


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


@pytest.mark.parametrize(
    ("model", "word"), [("persian", "شیر"), ("translator", "light"), ("translator", "run")]
)
def test_meanings_of_one_written_word_lie_apart(model, word):
    """In sentences that no model learned from; the vector of the word itself can only guess."""
    found = senses(model, word)
    assert found.score() >= 0.85
    assert parted(found) >= 0.85
    assert found.score(found.static) < 0.5


@pytest.mark.parametrize("end", ["tired", "wide"])
def test_a_head_leads_from_the_pronoun_to_a_distant_word(end):
    """L88 and L105, as docs/lectures.md types them."""
    model = Predictor.load("translator", "cpu", looking=True)
    seen = model.look(f">>fr<< The animal did not cross the street because it was too {end}.")
    site = seen.site("encoder.blocks.7.attention.attention")
    words = seen.axes[site.keys].words
    weights = seen.by_words(site)[2, words.index("it")]
    assert weights[words.index("animal")] >= 0.8
    assert " elle " in seen.answer.text.replace("'", " ")


def test_a_look_takes_what_the_verb_takes(tmp_path):
    """`model.caption(Path("dog.png"))` answered, and `model.look` of the same path was refused."""
    pixels = np.zeros((16, 16, 3), np.uint8)
    (tmp_path / "dog.png").write_bytes(png.encode(pixels))
    asked = [tmp_path / "dog.png", str(tmp_path / "dog.png"), pixels, Image(pixels)]
    model = regard.load("shapes", "cpu")
    said = {model.look(one).answer.text for one in asked}
    assert said == set(model.caption(asked)) == {one.text for one in model.predict(asked)}
    assert len(said) == 1
    assert len(model.predict(pixels)) == 1
    sounds = regard.load("spoken-digits", "cpu")
    take = Sound(np.sin(np.arange(8000) / 20).astype(np.float32), 8000)
    assert sounds.look(take).answer.text == sounds.transcribe(take)
    sorter = regard.load("sorter", "cpu")
    assert sorter.look([0.4, 0.2, 0.7, 0.1]).answer.text == "3 1 0 2"
    with pytest.raises(UsageError, match="one text is looked into at a time"):
        sorter.look([[0.4, 0.2], [0.7, 0.1]])
    with pytest.raises(UsageError, match="one text is looked into at a time"):
        regard.load("translator", "cpu").look(tmp_path / "dog.png")
    assert Question({"en": "a", "picture": Path("dog.png")}).sources["picture"] == "dog.png"
