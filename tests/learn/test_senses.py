"""Words in context: one written word with three meanings has three groups of states (L5)."""

import numpy as np
import pytest

from regard.answer.predictor import Predictor
from regard.answer.studies import senses
from tests.learn.kit import learned


def parted(found):
    """The share of occurrences in a group whose most common meaning is their own."""
    meanings, groups = np.array([one.sense for one in found.occurrences]), np.array(found.clusters)
    most = [np.unique(meanings[groups == g], return_counts=True)[1].max() for g in set(groups)]
    return sum(most) / len(groups)


@pytest.mark.slow
def test_hidden_words_teach_the_three_meanings_of_a_persian_word():
    run, _ = learned(
        "devlin2019",
        *("data.toy=persian", "model.encoder.width=48", "model.encoder.layers=2"),
        *("model.encoder.feedforward=96", "train.steps=1200"),
    )
    found = senses(Predictor.load(run.folder, "cpu"), "شیر")
    assert len(found.occurrences) == 18
    assert found.score(found.static) == pytest.approx(5 / 17)  # the same vector each time
    assert found.score() >= 0.75
    assert parted(found) >= 0.75
