"""FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, at each position alike."""

import math

import pytest
import torch
from torch.testing import assert_close

from regard.layers import FeedForward
from regard.layers.sublayer import activate
from regard.models import count_parameters

NORMAL = 0.5 * (1 + math.erf(1 / math.sqrt(2)))  # the share of a normal below one deviation
TANH = 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (1 + 0.044715)))
LOGISTIC = 1 / (1 + math.exp(-1))


@pytest.mark.parametrize(
    ("name", "at_one"), [("relu", 1.0), ("gelu", NORMAL), ("gelu-tanh", TANH), ("swish", LOGISTIC)]
)
def test_activations_at_one_zero_and_far_below(name, at_one):
    bent = activate(torch.tensor([1.0, 0.0, -50.0]), name)

    assert_close(bent, torch.tensor([at_one, 0.0, 0.0]), atol=1e-6, rtol=0)


def test_swiglu_multiplies_one_half_by_the_swish_of_the_other():
    value, gate = torch.tensor([2.0, 3.0]), torch.tensor([1.0, 0.0])

    assert_close(activate(torch.cat([value, gate]), "swiglu"), torch.tensor([2 * LOGISTIC, 0.0]))


def test_it_is_the_lectures_formula():
    torch.manual_seed(0)
    layer, states = FeedForward(3, 5), torch.randn(2, 7, 3)
    with torch.no_grad():
        layer.widen.bias.normal_()
        layer.narrow.bias.normal_()
    W_1, W_2 = layer.widen.weight.mT, layer.narrow.weight.mT

    expected = (states @ W_1 + layer.widen.bias).clamp(min=0) @ W_2 + layer.narrow.bias

    assert_close(layer(states), expected)


@pytest.mark.parametrize("name", ["relu", "gelu", "gelu-tanh", "swish", "swiglu"])
def test_positions_do_not_mix(name):
    torch.manual_seed(0)
    layer, states = FeedForward(3, 5, name), torch.randn(2, 7, 3)

    assert_close(layer(states.flip(1)), layer(states).flip(1))


def test_parameters_count_as_the_formula_says():
    assert count_parameters(FeedForward(3, 5)) == 3 * 5 + 5 + 5 * 3 + 3
    assert count_parameters(FeedForward(3, 5, bias=False)) == 2 * 3 * 5
    assert count_parameters(FeedForward(3, 5, "swiglu", bias=False)) == 3 * 3 * 5
