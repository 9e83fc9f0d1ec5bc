"""D15: what is shown is the attention of the hypothesis that the beam chose, in pieces and in words.

The texts are cut into pieces here, beams are wide, and the models are such that the beam often chooses
another answer than the greedy one: attention of the wrong hypothesis would show.
"""

from functools import cache

import numpy as np
import pytest
import torch

from regard.attention import watch
from regard.data.example import Pair
from regard.decode import DecodeSettings
from regard.tasks import TASKS
from regard.text import END, TextSettings
from regard.traces.trace import look_inside
from tests.tasks.kit import MODELS, moved

PAIRS = [
    Pair("the sleeping cats dream", "les chats endormis rêvent"),
    Pair("sleepless dogs", "des chiens sans sommeil"),
    Pair("東京に行く cats", "les chats y vont"),
]
TEXTS = [pair.source for pair in PAIRS] + ["dreaming sleepers", "no cat sleeps", "תֵּל of cats"]
KINDS = ("rnn", "rnn-before", "rnn-fed", "transformer")


@cache
def task():
    return TASKS["translate"].learn(lambda: iter(PAIRS), TextSettings(kind="bpe", vocabulary=300))


@cache
def model_of(kind):
    return moved(MODELS[kind][1], task(), seed=5, far=0.4)


@cache
def seen(kind, text, beam):
    return look_inside(task(), model_of(kind), text, DecodeSettings(beam=beam, max_length=11))


def forced(kind, text, ids):
    """The weights of each attention while these ids are said, by one plain pass of the model."""
    source = torch.tensor([[*task().source.encode(text), END]])
    inputs = torch.tensor([[model_of(kind).decoder.begin, *ids]])
    with torch.inference_mode(), watch(model_of(kind)) as calls:
        model_of(kind)(source, None, inputs)
        return {path: calls.weights(path)[0].numpy() for path in calls}


def between_words(weights, queries, keys):
    """Sum over the pieces looked at, mean over those that look, in plain loops."""
    found = np.zeros((len(weights), len(queries.words), len(keys.words)))
    for head, row, column in np.ndindex(*weights.shape):
        asking = queries.word_ids[row]
        share = weights[head, row, column] / queries.word_ids.count(asking)
        found[head, asking, keys.word_ids[column]] += share
    return found


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_the_weights_shown_are_those_of_the_chosen(kind, beam):
    for text in TEXTS:
        one = seen(kind, text, beam)
        weights = forced(kind, text, one.answer.ids)
        for site in one.sites:
            rows, columns = site.weights.shape[1:]
            expected = weights[site.path][:, :rows, :columns]
            np.testing.assert_allclose(site.weights, expected, atol=1e-5)
            queries, keys = one.axes[site.queries], one.axes[site.keys]
            np.testing.assert_allclose(
                one.by_words(site), between_words(expected, queries, keys), atol=1e-5
            )
            np.testing.assert_allclose(one.by_words(site).sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_attention_of_another_hypothesis_would_show(kind):
    """A control: the weights of the greedy answer are not those of the beam's choice."""
    apart = 0
    for text in TEXTS:
        one, greedy = seen(kind, text, 5), seen(kind, text, 1)
        site, wrong = one.site(), forced(kind, text, greedy.answer.ids)[one.site().path]
        rows = min(len(one.steps), wrong.shape[1])
        shown = site.weights[:, :rows]
        apart += not np.allclose(shown, wrong[:, :rows, : shown.shape[2]], atol=1e-3)
    assert apart


def test_texts_are_cut_into_pieces():
    axes = [seen("transformer", text, 2).axes["source"] for text in TEXTS]
    assert all(len(axis.pieces) > len(axis.words) for axis in axes)
    assert axes[2].words == ("東", "京", "に", "行", "く", "cats", "</s>")
