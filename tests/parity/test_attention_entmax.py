"""Sparse normalisers against the `entmax` package, and against a bisection of their definition."""

import entmax
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import Entmax15, Sparsemax

PAIRS = [(Sparsemax(), entmax.sparsemax), (Entmax15(), entmax.entmax15)]
ids = ["sparsemax", "entmax15"]


def bisected(scores, alpha, steps=80):
    """max(0, (alpha - 1) e - tau)^(1 / (alpha - 1)) with the tau that makes the weights sum to 1."""
    scaled = (alpha - 1) * scores
    low = scaled.amax(-1, keepdim=True) - 1
    high = scaled.amax(-1, keepdim=True)
    for _ in range(steps):
        tau = (low + high) / 2
        total = (scaled - tau).clamp(min=0).pow(1 / (alpha - 1)).sum(-1, keepdim=True)
        low, high = torch.where(total > 1, tau, low), torch.where(total > 1, high, tau)
    return (scaled - tau).clamp(min=0).pow(1 / (alpha - 1))


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=ids)
@pytest.mark.parametrize("spread", [0.01, 1.0, 10.0])
def test_values_and_gradients_of_the_package(ours, theirs, spread):
    torch.manual_seed(37)
    scores = spread * torch.randn(2, 3, 5, 13, dtype=torch.float64)
    direction = torch.randn_like(scores)
    weights, gradients = [], []
    for normalise in (ours, lambda leaf: theirs(leaf, dim=-1)):
        leaf = scores.clone().requires_grad_()
        weights.append(normalise(leaf))
        gradients.append(torch.autograd.grad((weights[-1] * direction).sum(), leaf)[0])

    torch.testing.assert_close(*weights, atol=1e-10, rtol=0)
    torch.testing.assert_close(*gradients, atol=1e-8, rtol=0)
    assert (spread < 1) == (weights[0] > 0).all()


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=ids)
def test_a_mask_is_the_package_on_what_is_left(ours, theirs):
    torch.manual_seed(41)
    scores = torch.randn(2, 3, 5, 13, dtype=torch.float64)
    allowed = torch.rand(2, 3, 5, 13) > 0.4
    allowed[..., 0] = True
    expected = theirs(scores.masked_fill(~allowed, -1e9), dim=-1)
    torch.testing.assert_close(ours(scores, allowed), expected, atol=1e-10, rtol=0)


@given(row=st.lists(st.floats(-20, 20), min_size=1, max_size=17))
@settings(max_examples=60, derandomize=True, deadline=None)
@pytest.mark.parametrize(("ours", "alpha"), [(Sparsemax(), 2.0), (Entmax15(), 1.5)], ids=ids)
def test_the_definition_by_bisection(ours, alpha, row):
    scores = torch.tensor(row, dtype=torch.float64).view(1, 1, 1, -1)
    torch.testing.assert_close(ours(scores), bisected(scores, alpha), atol=1e-7, rtol=0)
