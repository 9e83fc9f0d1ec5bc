"""Words get the states that look most like theirs, in order; and monotony is Spearman's correlation."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from regard.decode import DecodeSettings
from regard.errors import UsageError
from regard.tasks.axis import Times
from regard.traces.trace import look_inside
from regard.traces.word_times import SILENCE, divided, monotony, state_edges, word_times
from tests.tasks.kit import EXAMPLES, model_of, task_of


def best_by_hand(weights):
    """Every division of states into silence, word, silence, word, ..: what the best of them is worth."""
    words, states = weights.shape
    best = -np.inf
    for cuts in combinations_with_replacement(range(states + 1), 2 * words):
        begins, ends = cuts[::2], cuts[1::2]
        if any(end <= begin for begin, end in zip(begins, ends, strict=True)):
            continue
        own = sum(weights[n, a:b].sum() for n, (a, b) in enumerate(zip(begins, ends, strict=True)))
        silent = states - sum(b - a for a, b in zip(begins, ends, strict=True))
        best = max(best, own + SILENCE * silent)
    return best


@pytest.mark.parametrize("seed", range(12))
def test_no_other_division_is_better(seed):
    draw = np.random.default_rng(seed)
    words, states = int(draw.integers(1, 4)), int(draw.integers(4, 8))
    weights = draw.random((words, states)) ** 4
    spans = divided(weights)
    assert len(spans) == words
    last = 0
    for begin, end in spans:
        assert last <= begin < end <= states
        last = end
    worth = sum(weights[n, a:b].sum() for n, (a, b) in enumerate(spans))
    worth += SILENCE * (states - sum(b - a for a, b in spans))
    assert worth == pytest.approx(best_by_hand(weights))


def test_more_words_than_states_share_them():
    assert divided(np.ones((5, 2))) == [(0, 0), (0, 0), (0, 0), (1, 1), (1, 1)]


def test_states_meet_half_way_and_end_with_the_sound():
    edges = state_edges(Times((0.02, 0.06, 0.1), until=0.13))
    np.testing.assert_allclose(edges, [0.0, 0.04, 0.08, 0.13])


@pytest.fixture(scope="module")
def seen():
    task, model = task_of("transcribe"), model_of("transcribe")
    question = task.question(EXAMPLES["transcribe"][1])
    return look_inside(task, model, question, DecodeSettings(max_length=7))


def test_times_are_in_order_and_within_the_sound(seen):
    found = word_times(seen)
    assert [one.word for one in found] == seen.answer.text.split()
    last = 0.0
    for _, begin, end in found:
        assert last <= begin < end <= seen.axes["source"].until
        last = end


def test_monotony_is_spearmans_correlation(seen):
    looked = seen.site().weights[0] @ np.array(seen.axes["source"].seconds)
    said = [n for n, piece in enumerate(seen.axes["target"].pieces) if piece != "</s>"]
    ranks = np.argsort(np.argsort(looked[said]))
    expected = np.corrcoef(np.arange(len(said)), ranks)[0, 1]
    assert monotony(seen) == pytest.approx(expected)


def test_a_text_has_no_moments():
    task, model = task_of("translate"), model_of("rnn")
    seen = look_inside(task, model, "the red cat", DecodeSettings(max_length=5))
    with pytest.raises(UsageError, match="looks at no sound"):
        word_times(seen)
