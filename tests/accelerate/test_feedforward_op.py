"""The operator of the feed-forward network is the formula, forward and back."""

import pytest
import torch
from torch.testing import assert_close

from regard.accelerate.triton import feedforward_op
from regard.layers import FeedForward


def by_formula(network, states):
    return network.narrow(network.widen(states).relu())


@pytest.fixture
def network():
    torch.manual_seed(1)
    network = FeedForward(3, 11)
    for layer in (network.widen, network.narrow):
        torch.nn.init.normal_(layer.bias)
    return network


@pytest.mark.parametrize("shape", [(7, 3), (2, 5, 3), (1, 1, 3)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_it_is_the_formula_with_all_gradients(network, shape, dtype):
    network.to(dtype)
    states = torch.randn(shape, dtype=dtype, requires_grad=True)
    leaves = [states, *network.parameters()]
    expected = by_formula(network, states)
    found = feedforward_op.feedforward(states, network.widen, network.narrow, late=False)
    pull = torch.randn_like(found)

    assert_close(found, expected)
    assert_close(
        torch.autograd.grad(found, leaves, pull), torch.autograd.grad(expected, leaves, pull)
    )


def test_a_late_bias_gets_its_gradient_elsewhere(network):
    states = torch.randn(7, 3)
    found = feedforward_op.feedforward(states, network.widen, network.narrow, late=True)
    found.sum().backward()

    assert_close(found, by_formula(network, states))
    assert network.narrow.bias.grad is None
    assert network.widen.bias.grad.any()


def test_nothing_passes_where_nothing_came_out(network):
    for weight in network.widen.parameters():
        torch.nn.init.zeros_(weight)
    states = torch.ones(5, 3, requires_grad=True)

    feedforward_op.feedforward(states, network.widen, network.narrow, late=False).sum().backward()

    assert not states.grad.any()
    assert not network.widen.bias.grad.any()
    assert network.narrow.bias.grad.any()


def test_it_takes_the_type_of_autocast(network):
    states = torch.randn(2, 7, 3)
    with torch.autocast("cpu", torch.bfloat16):
        expected = network(states)
        assert feedforward_op.fits(states, network.widen)
        found = feedforward_op.feedforward(states, network.widen, network.narrow, late=False)

    assert found.dtype == torch.bfloat16
    assert_close(found, expected, rtol=2e-2, atol=2e-2)


def test_the_operator_is_what_it_says_to_the_compiler():
    shapes = (7, 3), (5, 3), 5, (3, 5), 3
    drawn = [torch.randn(shape, requires_grad=True) for shape in shapes]
    torch.library.opcheck(feedforward_op._feedforward, drawn)
    given = torch.randn(7, 3), torch.randn(3, 5), torch.randn(7, 5)
    torch.library.opcheck(feedforward_op._masked, given)


def test_full_precision_goes_by_the_modules(network):
    assert not feedforward_op.fits(torch.randn(2, 3), network.widen)
    without = FeedForward(3, 11, bias=False)
    assert not feedforward_op.fits(torch.randn(2, 3).bfloat16(), without.widen)
