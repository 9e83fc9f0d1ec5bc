"""Attention followed through layers: shares stay shares, and no attention leaves each token with itself."""

from dataclasses import replace

import numpy as np
import pytest

from regard.errors import UsageError
from regard.traces.site import rollout
from tests.traces.kit import traced


def layers(kind, place):
    return [site for site in traced(kind).sites if site.kind == place]


@pytest.mark.parametrize(
    ("kind", "place"), [("transformer", "encoder-self"), ("language", "decoder-self")]
)
def test_each_layer_is_the_product_of_those_below(kind, place):
    found = traced(kind).rollout()
    sites = layers(kind, place)
    expected = np.eye(found.shape[-1])
    assert len(found) == len(sites) == 2
    for own, site in zip(found, sites, strict=True):
        expected = (0.5 * site.weights.mean(0) + 0.5 * np.eye(len(expected))) @ expected
        np.testing.assert_allclose(own, expected, atol=1e-6)
        np.testing.assert_allclose(own.sum(-1), 1, atol=1e-5)


def test_layers_come_in_their_order():
    sites = layers("transformer", "encoder-self")
    assert np.array_equal(rollout(sites), rollout(sites[::-1]))


def test_who_looks_at_themselves_is_left_with_themselves():
    (site, *_) = layers("transformer", "encoder-self")
    alone = replace(
        site,
        weights=np.broadcast_to(
            np.eye(site.weights.shape[1], dtype=np.float32), site.weights.shape
        ),
    )
    assert np.array_equal(rollout([alone, alone])[-1], np.eye(site.weights.shape[1]))


def test_a_model_without_self_attention_says_so():
    with pytest.raises(UsageError, match="no self-attention to follow"):
        traced("rnn").rollout()
