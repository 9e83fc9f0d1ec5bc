"""Studies of a loaded model: the word itself is read, whatever stands before it; steps come to the whole."""

import numpy as np
import pytest

from regard.answer.predictor import Predictor
from regard.answer.studies import fit_to_judge, head_steps, heads, sense_steps, senses, texts_of
from regard.errors import DataError, UsageError
from regard.tasks import Prediction
from regard.traces.head_survey import PROBES, Sentence, finished
from regard.traces.senses import at_layer
from tests.box import standin

TEXTS = ["the black cat ate the mouse .", "see the cat and the mouse .", "the cat ate the cat ."]


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    place = tmp_path_factory.mktemp("studies")
    return Predictor.load(standin.make(place, "many", "translate", place / "scratch"), "cpu")


def test_the_state_is_that_of_the_word_behind_the_tag_of_a_language(translator):
    """The static vector of a word is the same in every sentence: only then is it the word that is read."""
    found = senses(translator, "cat", TEXTS, to="fr")
    assert len(found.occurrences) == 4
    task = translator.run.task
    for one in found.occurrences:
        assert one.text.startswith(">>fr<< ")
        words = task.forced(one.text, Prediction("")).axes["source"].words
        assert words[one.place] == "cat"
        assert one.shown[slice(*one.span)] == "cat"
        assert one.label
    assert np.ptp(found.static, axis=0).max() < 1e-6
    assert np.ptp(found.states, axis=0).max() > 1e-3
    first, second = found.occurrences[2:]
    assert (first.span, second.span) == ((4, 7), (16, 19))


def test_every_layer_at_once_is_each_layer_alone(translator):
    texts = texts_of("cat", TEXTS)
    found = finished(sense_steps(translator, "cat", texts, "de"))
    assert [one.layer for one in found] == [0, 1, 2]
    for layer, one in enumerate(found):
        own = senses(translator, "cat", TEXTS, to="de", layer=layer)
        np.testing.assert_array_equal(one.states, own.states)
    assert at_layer(found, None) is found[-1]
    with pytest.raises(UsageError, match="no layer 3"):
        at_layer(found, 3)


def test_steps_say_how_far_they_are_and_come_to_the_whole(translator):
    steps = head_steps(translator, [Sentence.of(text) for text in TEXTS], "fr")
    told, found = [], None
    while found is None:
        try:
            told.append(next(steps))
        except StopIteration as end:
            found = end.value
    total = 2 * len(TEXTS) + PROBES
    assert told == [(done, total) for done in range(1, total + 1)]
    whole = heads(translator, TEXTS, to="fr")
    assert [one.as_dict() for one in found] == [one.as_dict() for one in whole]


def test_sentences_that_say_too_little_are_left_out(translator):
    some = [Sentence.of(text) for text in ("a b", "a b c", "a " * 41)]
    assert [one.text for one in fit_to_judge(some)] == ["a b c"]
    with pytest.raises(DataError, match="3 to 40 words"):
        fit_to_judge(some[:1])
    with pytest.raises(UsageError, match="no sentences for 'zebra'"):
        texts_of("zebra")


@pytest.mark.parametrize("model", ["tagger", "sentiment", "translator"])
def test_a_word_that_a_model_cannot_read_has_no_senses(model):
    """Bytes and the unknown sign have states, too: 39% of them had a neighbour of the same sense."""
    with pytest.raises(UsageError, match="cannot read 'شیر'"):
        senses(model, "شیر")
