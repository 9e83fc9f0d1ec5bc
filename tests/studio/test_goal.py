"""Into which language a text goes when nobody said, and what a model from the box tells of itself."""

from types import SimpleNamespace

import numpy as np
import pytest
from starlette.testclient import TestClient

from regard import box
from regard.studio.app import create_app
from regard.studio.checks import goal_of
from tests.box import standin
from tests.studio.conftest import BASE

ENGLISH, GERMAN = "the black cat ate the mouse .", "die schwarze Katze fraß die Maus ."


@pytest.fixture(scope="module")
def boxed(make, tmp_path_factory):
    place = tmp_path_factory.mktemp("box")
    folder = standin.make(place, "translator", "translate", tmp_path_factory.mktemp("x") / "run")
    patch = pytest.MonkeyPatch()
    patch.setattr(box, "PLACE", place)
    with TestClient(create_app(make([folder])), base_url=BASE) as one:
        yield one
    patch.undo()


def ask(boxed, text, **more):
    answer = boxed.post("/api/trace", json={"run": "translator", "text": text, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("text", "asked", "language", "to"),
    [
        (ENGLISH, None, "en", "fr"),
        (ENGLISH, "de", "en", "de"),
        (GERMAN, None, "de", "en"),
        (GERMAN, "de", "de", "de"),
        ("le chat noir a mangé la souris .", None, "fr", "en"),
        ("cat", None, "", "fr"),
        (">>de<< the cat", None, "en", "de"),
    ],
)
def test_the_language_of_the_answer(boxed, text, asked, language, to):
    found = ask(boxed, text, to=asked)
    assert (found["language"], found["to"]) == (language, to)
    assert found["axes"]["source"]["pieces"][0] == f">>{to}<<"


def test_from_english_the_first_language_of_the_card_is_taken():
    """As in the README, whatever the order of the tags in the vocabulary."""
    passages = SimpleNamespace(languages=("de", "en", "fr"))
    card = SimpleNamespace(languages=("en", "fr", "de"))
    assert goal_of(SimpleNamespace(passages=passages, card=card), ENGLISH, None) == "fr"
    assert goal_of(SimpleNamespace(passages=passages, card=None), ENGLISH, None) == "de"


def test_an_unknown_language_is_refused(boxed):
    answer = boxed.post("/api/trace", json={"run": "translator", "text": "a", "to": "xx"})
    assert answer.status_code == 422
    assert "does not translate into 'xx'" in answer.json()["what"]


@pytest.mark.parametrize("text", ["أكلت القطة السوداء الفأر", "42 %", "https://example.org/a"])
def test_a_text_with_nothing_to_translate_is_refused(boxed, text):
    """Asked all the same, the model would spell letters that it does not know byte by byte."""
    answer = boxed.post("/api/trace", json={"run": "translator", "text": text, "to": "fr"})
    assert answer.status_code == 422
    assert answer.json()["what"] == "there is nothing here to translate"
    assert "English" in answer.json()["remedy"]


def test_a_model_of_one_pair_has_no_languages(asked):
    found = asked("transformer", "a b c")
    assert (found["language"], found["to"], found["look_heads"]) == ("", "", [])


def test_a_box_model_tells_of_itself(boxed):
    (about,) = boxed.get("/api/about").json()["runs"]
    assert about["example"] == ENGLISH
    assert about["directions"] == ["en-fr", "en-de", "fr-en", "de-en"]
    assert about["place"] == "translator"
    assert about["pieces"] == "bpe"
    assert about["learned"] == "train.source, train.target", "no folders are told"


def test_the_heads_its_card_names_come_as_a_mean(boxed):
    found = ask(boxed, ENGLISH)
    assert found["look"] == "reader.blocks.0.cross.attention"
    assert found["look_heads"] == [1]
    (site,) = (one for one in found["sites"] if one["path"] == found["look"])
    path = f"/api/trace/{found['id']}/weights/{site['index']}"

    def weights(head):
        content = boxed.get(f"{path}/{head}").content
        return np.frombuffer(content, "<f4")

    both = (weights(0) + weights(2)) / 2
    assert np.abs(weights("0+2") - both).max() < 1e-6
    assert boxed.get(f"{path}/0").content == boxed.get(f"{path}/0+0").content
    for wrong in ("0+", "+", "0+9", "0,2", "0+1+2+0", "mean+0"):
        assert boxed.get(f"{path}/{wrong}").status_code == 404, wrong
