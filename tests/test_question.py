"""A question says all of itself as a string, and a plain string is the shorthand for one text."""

import copy
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import UsageError
from regard.question import Image, Question, Sound, listed, single, titled

NUMBER = st.floats(width=32, allow_nan=False, allow_infinity=False)
SEVERAL = ("word", "picture", "voice", "points")


@given(st.text())
def test_one_text_is_its_own_question(text):
    assert Question(text) == text == Question.read(text)
    assert Question(text).sources == {"source": text}
    assert json.loads(json.dumps(Question(text))) == text


@given(
    word=st.text(),
    picture=st.lists(st.lists(NUMBER, min_size=2, max_size=2), min_size=1, max_size=3),
    points=st.lists(st.tuples(NUMBER, NUMBER), max_size=3),
)
def test_several_sources_are_read_again_from_their_string(word, picture, points):
    asked = Question(
        {"word": word, "picture": Image(np.array(picture)), "voice": Sound("a.wav", 16_000)}
        | {"points": points}
    )
    again = Question.read(str(asked), SEVERAL)
    assert again == asked
    assert again.sources["word"] == word
    assert again.sources["points"] == tuple(points)
    assert np.array_equal(again.sources["picture"].array, np.array(picture, np.float32))
    assert (again.sources["voice"].data, again.sources["voice"].rate) == ("a.wav", 16_000)
    assert copy.deepcopy(asked) == asked


def test_a_text_that_looks_like_several_sources_is_still_a_text():
    text = '{"word": "top"}'
    assert Question.read(text).sources == {"source": text}
    assert Question.read(text, ("word",)).sources == {"word": "top"}


def test_one_list_of_items_is_written_as_a_pointer_reads_it():
    assert Question({"source": [(0.3, 0.1), (0.5, 2)]}) == "0.3,0.1 0.5,2.0"
    assert Question({"source": np.array([0.5, 0.25])}) == "0.5 0.25"


def test_a_mapping_is_a_question_wherever_one_is_asked():
    sources = {"word": "top", "points": [1.0]}
    assert single(sources) == Question(sources)
    assert listed(sources) == listed([sources]) == [Question(sources)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("top", "a question of several sources is a JSON object: this is not JSON"),
        ("[1]", "a question of several sources is a JSON object: this is no JSON object"),
        ('{"word": "a"}', "this model reads word, picture, voice, points, and was given word"),
        ('{"word": {"a": 1}}', "'word' cannot be a dict"),
    ],
)
def test_what_is_no_question_is_refused(text, what):
    with pytest.raises(UsageError, match=what) as fault:
        Question.read(text, SEVERAL)
    assert fault.value.remedy


def test_a_source_that_a_model_does_not_read_is_refused():
    with pytest.raises(UsageError, match="this model reads source, and was given a"):
        Question.read(Question({"a": "b"}))


def test_a_path_is_not_taken_for_numbers():
    with pytest.raises(UsageError, match="no file was read"):
        _ = Image("cells.png").array


def test_a_question_needs_no_torch():
    program = "import sys, regard; regard.Question('a'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("question", "names", "title"),
    [
        ("two dogs", ("source",), "two dogs"),
        ('{"en": "a dog", "picture": {"image": "far/dog.png"}}', ("en", "picture"),
         "en: a dog; picture: dog.png"),
        ('{"voice": {"sound": "data:audio/wav;base64,AAAA"}, "at": [[0.1, 0.2]]}', ("voice", "at"),
         "voice: (sound); at: (numbers)"),
        ('{"en": "a dog"}', ("source", "target"), '{"en": "a dog"}'),  # of a translator, it is a text
        ('{"en": ', ("en",), '{"en": '),
        ("data:image/png;base64,AAAA", ("source",), "(picture)"),
    ],
)  # fmt: skip
def test_a_title_says_the_sources_and_not_how_they_are_written(question, names, title):
    assert titled(question, names) == title
