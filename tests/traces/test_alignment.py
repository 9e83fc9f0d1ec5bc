"""The attention shown first is the one that looks at the words that stay the same."""

import numpy as np
import pytest

from regard.answer.tracing import trace, traces
from regard.box.card import Look
from regard.errors import UsageError
from regard.tasks import Prediction
from regard.tasks.axis import Tokens, joined
from regard.traces.overview import anchors, rank
from regard.traces.site import TracedSite
from regard.traces.trace import Trace
from tests.box import standin
from tests.run import kinds

SOURCE = Tokens.whole([">>fr<<", "Anna", "saw", "7", "cats", "</s>"])
TARGET = Tokens.whole(["Anna", "a", "vu", "7", "chats", "</s>"])


def seen(*sites):
    """A trace with cross-attention of these weights, (heads, query, key)."""
    found = []
    for number, weights in enumerate(sites):
        heads, queries, keys = weights.shape
        vectors = [np.zeros((heads, count, 1), np.float32) for count in (queries, keys, keys)]
        about = (f"site.{number}", "cross", number, "target", "source", "dot", "softmax", "product")
        found.append(TracedSite(*about, 1.0, weights, weights, *vectors, None, None))
    axes = {"source": SOURCE, "target": TARGET}
    return Trace("translate", "", "", Prediction(""), (), axes, tuple(found))


def test_anchors_are_words_that_both_sides_have_once():
    assert anchors(TARGET, SOURCE) == [(0, 1), (3, 3)]
    assert anchors(Tokens.whole(["a", "a"]), Tokens.whole(["a"])) == []


def test_the_site_that_looks_where_it_should_comes_first():
    aside = np.full((2, 6, 6), 1 / 6, np.float32)
    right = aside.copy()
    right[1] = 0
    right[1, 0, 1] = right[1, 3, 3] = 1
    found = rank([seen(aside, right)])
    assert found[0].look == Look(site="site.1", heads=(1,))
    assert found[0].score == 1
    whole = next(one for one in found if one.look == Look(site="site.1"))
    assert whole.score == pytest.approx((1 + 1 / 6) / 2)
    assert found[-1].look.site == "site.0"


def test_nothing_in_common_is_said():
    with pytest.raises(UsageError, match="no word of these answers"):
        rank([])


def test_a_lone_space_belongs_to_the_word_behind_it():
    axis = Tokens(("▁", "<keep0>", "▁a", "</s>"), (0, 1, 2, 3), ("▁", "<keep0>", "a", "</s>"))
    assert joined(axis) == Tokens(axis.pieces, (0, 0, 1, 2), ("<keep0>", "a", "</s>"))
    assert joined(Tokens.whole(["a", "▁"])) == Tokens.whole(["a", "▁"])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    place = tmp_path_factory.mktemp("box")
    folder = standin.make(place, "translator", "translate", place / "scratch")
    return kinds.load(folder)


class TestTranslator:
    def test_a_trace_shows_a_persons_own_words(self, model):
        found = trace(model, "the 😀 cat", to="fr")
        assert found.question == "the 😀 cat"
        assert found.axes["source"].words == (">>fr<<", "the", "😀", "cat", "</s>")
        assert found.answer.text.count("😀") == 1

    def test_the_card_says_where_to_look(self, model):
        found = trace(model, "the cat", to="fr")
        site = found.site()
        assert site.path == model.card.look.site == "reader.blocks.0.cross.attention"
        assert np.array_equal(found.alignment(), found.by_words(site)[1])

    def test_a_trace_a_sentence(self, model):
        found = list(traces(model, "the cat! 42! Anna 😀!", to="fr"))
        assert [one.question for one in found] == ["the cat!", "Anna 😀!"]
        assert all(one.axes["source"].words[0] == ">>fr<<" for one in found)

    def test_a_typed_tag_is_a_target(self, model):
        typed, said = trace(model, ">>de<< the cat"), trace(model, "the cat", to="de")
        assert typed.answer == said.answer
        assert typed.question == "the cat"

    def test_a_trace_is_what_is_translated(self, model):
        text = "the black %s cat ate ."
        assert trace(model, text, to="fr").answer.text == model.translate(text, to="fr")

    def test_looking_and_tracing_read_the_same(self, model):
        seen, found = model.look("the cat", to="fr"), trace(model, "the cat", to="fr")
        assert seen.answer.text == found.answer.text
        assert seen.axes["source"] == found.axes["source"]

    @pytest.mark.parametrize("text", ["42", "😀", "https://example.org", "", " "])
    def test_nothing_is_made_up_where_there_is_nothing_to_translate(self, model, text):
        for ask in (trace, type(model).look):
            with pytest.raises(UsageError, match="there is nothing here to translate") as caught:
                ask(model, text, to="fr")
            assert caught.value.where == f"text {text!r}"

    def test_a_language_is_asked_for_in_the_callers_words(self, model):
        for ask in (trace, type(model).look, type(model).translate):
            with pytest.raises(UsageError, match="into which language") as caught:
                ask(model, "the cat")
            assert caught.value.where == "to=None"
            assert caught.value.remedy.startswith('say to="')
            with pytest.raises(UsageError, match="does not translate into 'it'") as caught:
                ask(model, "the cat", to="it")
            assert caught.value.where == 'to="it"'
