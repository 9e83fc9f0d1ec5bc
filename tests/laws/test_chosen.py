"""Fetching the value that was chosen is hard attention by its formula, whatever the score and the mask."""

import pytest
import torch
from torch.testing import assert_close

from regard import reference
from regard.accelerate.attend.chosen import Chosen
from regard.attention import Attention, Causal, Given, Padding, formula, make_normaliser

CHOICES = ("hard", "gumbel", "sampled")


def scene(normaliser, score="dot"):
    torch.manual_seed(4)
    attention = Attention(score, make_normaliser(normaliser)).eval()
    query, key, value = torch.randn(3, 2, 5, 6), torch.randn(3, 2, 7, 6), torch.randn(3, 2, 7, 11)
    return attention, query, key, value


@pytest.mark.parametrize("score", ["dot", "scaled-dot", "cosine"])
@pytest.mark.parametrize("normaliser", CHOICES)
@torch.no_grad()
def test_it_is_the_formula_under_every_mask(normaliser, score):
    attention, query, key, value = scene(normaliser, score)
    some = torch.rand(3, 1, 5, 7) > 0.5
    some[0, 0, 2] = False
    for mask in (None, Padding(torch.tensor([7, 0, 3])), Causal(), Given(some)):
        memory = attention.remember(key, value, mask)
        reduced = mask and mask.reduce(5, 7, 0)
        assert Chosen().takes(attention, query, memory, reduced)
        found = attention(query, memory)
        with reference():
            assert_close(found, attention(query, memory))
        assert_close(found, formula.context(attention, query, memory, reduced))


def test_it_leaves_learning_to_the_formula():
    attention, query, key, value = scene("sampled")
    memory = attention.remember(key, value)
    assert not Chosen().takes(attention, query, memory, None)  # gradients are asked for
    with torch.no_grad():
        assert not Chosen().takes(attention.train(), query, memory, None)  # the choice is drawn
        soft = Attention("dot", "softmax").eval()
        assert not Chosen().takes(soft, query, memory, None)


@torch.no_grad()
def test_a_score_that_is_not_finite_is_not_hidden():
    attention, query, key, value = scene("hard")
    query[1, 0, 2] = torch.nan
    memory = attention.remember(key, value)
    found = attention(query, memory)
    with reference():
        wanted = attention(query, memory)
    assert torch.equal(found.isnan().any(-1), wanted.isnan().any(-1))
    assert found[1, 0, 2].isnan().all()
