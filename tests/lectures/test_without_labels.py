"""L101, L16 and L97: a hidden word is its own label, and a narrow passage loses noise."""

import math

import pytest

from regard.errors import UsageError
from regard.worked import hidden_word, narrow_passage


def test_the_place_of_a_hidden_word_is_worked_out_from_the_others():  # L101
    worked = hidden_word()
    # By hand: the mask (0, 0.5) scores 0, 0, 1, 0 and 0.25 over sqrt(2).
    scores = [0, 0, 1 / math.sqrt(2), 0, 0.25 / math.sqrt(2)]
    total = sum(map(math.exp, scores))
    weights = [math.exp(one) / total for one in scores]
    assert worked["weights"] == pytest.approx(weights)
    context = (2 * weights[1], 2 * weights[2] + 0.5 * weights[4])
    assert worked["context"] == pytest.approx(context)
    state = (context[0], 0.5 + context[1])
    logits = [0, 2 * state[0], 2 * state[0] + 0.5 * state[1], 2 * state[1], state[0] + 2 * state[1]]
    below = sum(map(math.exp, logits))
    assert worked["loss"] == pytest.approx(math.log(below) - logits[4])
    assert worked["best"] == "cheese"
    assert worked["read"] == "the cat ate the <mask>"
    assert worked["counted"] == (0, 0, 0, 0, 1)


def test_only_a_word_of_the_sentence_can_be_hidden():
    with pytest.raises(UsageError, match="has the hidden word once"):
        hidden_word(hidden="the")
    with pytest.raises(UsageError, match="has the hidden word once"):
        hidden_word(sentence="the dog ate the cheese")


def test_what_lies_across_the_passage_is_lost():  # L16, L97
    worked = narrow_passage()
    assert worked["nearest word"] == ("kitten", "cat", "tiger", "lion")
    assert worked["error going in"] == pytest.approx(2 * (0.09 + 0.04 + 0.0625 + 0.09) / 4)
    assert worked["noise left"] < 0.2
    x, y = worked["passage"]
    assert math.hypot(x, y) == pytest.approx(1)
    assert x == pytest.approx(y, rel=0.1)  # the words lie near the diagonal, the noise across it
    straight = narrow_passage(words={"a": (0, 0), "b": (1, 1)}, noise=((1, -1), (-1, 1)))
    assert straight["error coming out"] == pytest.approx(0, abs=1e-12)
    along = narrow_passage(words={"a": (0, 0), "b": (1, 1)}, noise=((1, 1), (1, 1)))
    assert along["noise left"] == pytest.approx(1)
