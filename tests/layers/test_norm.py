"""Both lecture forms of layer normalisation, and the residual in both orders."""

import pytest
import torch
from torch.testing import assert_close

from regard.layers import LayerNorm, Residual


def test_the_standard_form_is_the_formula():
    """(x - mu) / sqrt(sigma^2 + eps) * gamma + beta (L62)."""
    norm = LayerNorm(3, eps=0.5)
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([1.0, 2.0, 3.0]))
        norm.bias.copy_(torch.tensor([0.5, 0.0, -0.5]))
    states = torch.tensor([[1.0, 2.0, 6.0]])  # mean 3, variance (4 + 1 + 9) / 3 = 14/3
    centred = torch.tensor([[-2.0, -1.0, 3.0]])

    expected = centred / (14 / 3 + 0.5) ** 0.5 * norm.weight + norm.bias

    assert_close(norm(states), expected)


def test_the_plain_form_is_the_formula_and_learns_nothing():
    """(x - mu) / (sigma + eps), sigma with 1/H (L61)."""
    norm = LayerNorm(2, "plain", eps=0.25)

    assert_close(norm(torch.tensor([[3.0, 7.0]])), torch.tensor([[-2.0, 2.0]]) / (2 + 0.25))
    assert list(norm.parameters()) == []


@pytest.mark.parametrize("form", ["standard", "plain"])
def test_positions_are_normalised_one_by_one_to_mean_0_and_deviation_1(form):
    states = torch.randn(3, 5, 11) * 7 + 2

    normal = LayerNorm(11, form)(states)

    assert_close(normal.mean(-1), torch.zeros(3, 5), atol=1e-6, rtol=0)
    assert_close(normal.std(-1, correction=0), torch.ones(3, 5), atol=1e-4, rtol=0)
    assert_close(LayerNorm(11, form)(states[:, 2:3]), normal[:, 2:3])


@pytest.mark.parametrize("form", ["standard", "plain"])
@pytest.mark.parametrize("width", [1, 4])
def test_a_position_without_deviation_gives_0_and_finite_gradients(form, width):
    states = torch.full((2, width), 3.0, requires_grad=True)

    normal = LayerNorm(width, form)(states)
    normal.square().sum().backward()

    assert (normal == 0).all()
    assert states.grad.isfinite().all()


def test_pre_norm_normalises_what_the_layer_sees_and_keeps_the_sum_bare():
    residual, states = Residual(3, order="pre"), torch.randn(2, 3)

    assert_close(residual.open(states), residual.norm(states))
    assert_close(residual.close(states, torch.ones(2, 3)), states + 1)


def test_post_norm_shows_the_layer_the_states_and_normalises_the_sum():
    residual, states = Residual(3, order="post"), torch.randn(2, 3)
    change = torch.randn(2, 3)

    assert residual.open(states) is states
    assert_close(residual.close(states, change), residual.norm(states + change))


def test_dropout_falls_on_the_change_alone():
    residual, states = Residual(3, dropout=0.999).train(), torch.randn(7, 3)

    kept = residual.close(states, torch.ones(7, 3)) == states

    assert kept.any()
    assert_close(residual.eval().close(states, torch.ones(7, 3)), states + 1)
