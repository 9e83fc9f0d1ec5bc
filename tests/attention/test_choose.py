import pytest
import torch

from regard.attention import (
    CHOOSING,
    NORMALISERS,
    NOTICING,
    SCORES,
    Normaliser,
    Score,
    make_normaliser,
    make_score,
)


def test_every_name_makes_its_own_kind():
    scores = [make_score(name, query_width=3, key_width=3) for name in SCORES]
    normalisers = [make_normaliser(name) for name in NORMALISERS]
    assert all(isinstance(score, Score) for score in scores)
    assert all(isinstance(normaliser, Normaliser) for normaliser in normalisers)
    assert len({type(score) for score in scores}) == len(SCORES) == 7
    assert len({type(normaliser) for normaliser in normalisers}) == len(NORMALISERS) == 8


@pytest.mark.parametrize("name", SCORES)
def test_weights_have_the_asked_sizes(name):
    score = make_score(name, query_width=5, key_width=5, num_heads=3, neurons=7, max_length=11)
    shapes = {key: tuple(weight.shape) for key, weight in score.named_parameters()}
    expected = {
        "general": {"weight": (3, 5, 5)},
        "additive": {"query_weight": (3, 5, 7), "key_weight": (3, 5, 7), "value_weight": (3, 7)},
        "cosine": {"log_sharpness": ()},
        "location": {"weight": (3, 11, 5)},
    }
    assert shapes == expected.get(name, {})


@pytest.mark.parametrize("name", ["general", "additive", "location"])
def test_some_scores_meet_keys_of_another_width(name):
    score = make_score(name, query_width=3, key_width=5, max_length=7)
    scores = score(torch.randn(1, 1, 2, 3), score.prepare(torch.randn(1, 1, 7, 5)))
    assert scores.shape == (1, 1, 2, 7)


@pytest.mark.parametrize("name", ["dot", "scaled-dot", "cosine", "feature-map"])
def test_the_others_refuse_them(name, refuses):
    with refuses(
        f"the {name} score multiplies query and key neuron by neuron: "
        "width 3 does not meet width 5",
        "score",
        "make the widths equal, or take general or additive",
    ):
        make_score(name, query_width=3, key_width=5)


def test_an_unknown_name_is_refused_with_the_nearest(refuses):
    with refuses("no score 'aditive'", "score", "did you mean 'additive'?"):
        make_score("aditive", query_width=3, key_width=5)
    with refuses(
        "no score 'xyz'",
        "score",
        "choose one of: additive, cosine, coverage, dot, feature-map, general, location, "
        "location-aware, scaled-dot",
    ):
        make_score("xyz", query_width=3, key_width=3)
    with refuses("no normaliser 'entmax'", "normalise", "did you mean 'entmax-1.5'?"):
        make_normaliser("entmax")
    with refuses("no normaliser 'Softmax'", "normalise", "did you mean 'softmax'?"):
        make_normaliser("Softmax")


def test_scores_and_normalisers_say_the_name_they_are_chosen_by():
    for name in (*SCORES, *NOTICING):
        assert make_score(name, query_width=2, key_width=2).name == name
    for name in (*NORMALISERS, *CHOOSING):
        assert make_normaliser(name).name == name
