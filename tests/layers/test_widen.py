"""The operator of the feed-forward network's first half is the formula, forward and back."""

import pytest
import torch
from torch.testing import assert_close

from regard.layers import FeedForward, widen


@pytest.mark.parametrize("shape", [(7, 3), (2, 5, 3), (1, 1, 3)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_it_is_the_formula_with_all_gradients(shape, dtype):
    torch.manual_seed(1)
    layer = torch.nn.Linear(3, 11, dtype=dtype)
    states = torch.randn(shape, dtype=dtype, requires_grad=True)
    leaves = [states, *layer.parameters()]
    expected, found = layer(states).relu(), widen.widen(states, layer)
    pull = torch.randn_like(found)

    assert_close(found, expected)
    assert_close(
        torch.autograd.grad(found, leaves, pull), torch.autograd.grad(expected, leaves, pull)
    )


def test_nothing_passes_where_nothing_came_out():
    layer = torch.nn.Linear(2, 3)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    states = torch.ones(5, 2, requires_grad=True)

    widen.widen(states, layer).sum().backward()

    assert not states.grad.any()
    assert not layer.bias.grad.any()


def test_the_network_takes_the_type_of_autocast(monkeypatch):
    torch.manual_seed(2)
    network, states = FeedForward(3, 5), torch.randn(2, 7, 3)
    with torch.autocast("cpu", torch.bfloat16):
        expected = network(states)
        monkeypatch.setattr(widen, "takes", lambda *_: True)
        found = network(states)

    assert found.dtype == torch.bfloat16
    assert_close(found, expected, rtol=2e-2, atol=1e-2)


def test_the_operator_is_what_it_says_to_the_compiler():
    states, weight, bias = (torch.randn(shape, requires_grad=True) for shape in ((7, 3), (5, 3), 5))
    torch.library.opcheck(widen._widen, (states, weight, bias))
    torch.library.opcheck(widen._bent, (torch.randn(7, 5), torch.randn(7, 5)))


def test_elsewhere_and_without_a_gradient_it_steps_aside():
    layer, states = torch.nn.Linear(3, 5), torch.randn(2, 3)
    assert not widen.takes(states, layer)
