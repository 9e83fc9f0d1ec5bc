"""Senses: states that differ by context are told apart, the static vector never is."""

import numpy as np
import pytest
import torch

from regard.errors import UsageError
from regard.tasks import Prediction
from regard.traces.examples import SENSES
from regard.traces.senses import Occurrence, Senses, cosines, find, grouped, plane, study
from tests.tasks.kit import EXAMPLES, task_of
from tests.traces.kit import model_of

TASK = task_of("translate")


def two_groups(seed=0):
    generator = np.random.default_rng(seed)
    centres = np.eye(2, 7) * 3
    return np.concatenate([c + generator.normal(size=(6, 7)) * 0.1 for c in centres]).astype(
        np.float32
    )


def made(states, static=None):
    some = tuple(Occurrence(f"text {n}", 0, "one" if n < 6 else "two") for n in range(12))
    static = np.ones_like(states) if static is None else static
    return Senses("word", 1, some, states, static, grouped(states, 2))


def test_two_senses_are_two_groups_and_neighbours_share_theirs():
    found = made(two_groups())
    assert len(set(found.clusters[:6])) == len(set(found.clusters[6:])) == 1
    assert found.clusters[0] != found.clusters[6]
    assert found.score() == 1
    assert all(n < 6 for n, _ in found.neighbours(0))
    # Twelve equal vectors: each has five neighbours of eleven that share its sense.
    assert found.score(found.static) == pytest.approx(5 / 11)


def test_the_map_has_the_variance_of_the_first_two_components():
    states = two_groups(3)
    found = plane(states)
    wanted = np.linalg.svd(states - states.mean(0), compute_uv=False)[:2]
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), wanted, rtol=1e-4)
    assert abs(found[:, 0] @ found[:, 1]) < 1e-3
    np.testing.assert_allclose(np.diag(cosines(states)), 1, atol=1e-6)


def axis_of(text):
    return TASK.forced(text, Prediction("")).axes["source"]


def test_every_occurrence_has_a_state_of_its_own_and_one_static_vector():
    text = TASK.question(EXAMPLES["translate"][0])
    word = axis_of(text).words[0]
    some = find(word, {"a": [text], "b": [f"{text} {text}"]}, axis_of)
    assert len(some) >= 3
    model = model_of("transformer-scaled-dot")
    found = study(TASK, model, word, some, axis_of)
    assert np.ptp(found.static, axis=0).max() < 1e-6
    assert np.ptp(found.states, axis=0).max() > 1e-3
    first = study(TASK, model, word, some, axis_of, layer=0)
    assert first.layer == 0
    top = model.eval().encode(torch.from_numpy(TASK.encode(text)).long()[None]).states[0]
    pieces = [n for n, own in enumerate(axis_of(text).word_ids) if own == 0]
    np.testing.assert_allclose(
        found.states[0], top[pieces].mean(0).detach().numpy(), rtol=1e-4, atol=1e-5
    )
    with pytest.raises(UsageError, match="no layer 9"):
        study(TASK, model, word, some, axis_of, layer=9)


def test_a_word_that_hardly_occurs_is_refused():
    with pytest.raises(UsageError, match="occurs 0 times"):
        find("nowhere", {"": ["a b"]}, axis_of)


def test_the_shipped_sentences_hold_their_word_once_each():
    for word, senses in SENSES.items():
        assert len(senses) == (3 if word in ("run", "شیر") else 2)
        for sentences in senses.values():
            assert len(sentences) >= 6
            for text in sentences:
                words = [own.strip(".,").casefold() for own in text.split()]
                assert words.count(word) == 1, text
