"""A list of modules that remembers what it holds."""

from torch import nn

from regard.layers import Stack


def test_a_stack_holds_what_it_was_given_in_order():
    layers = [nn.Linear(2, 3), nn.Linear(3, 5)]
    stack = Stack(iter(layers))

    assert list(stack) == layers
    assert len(stack) == 2
    assert set(stack.state_dict()) == {"0.weight", "0.bias", "1.weight", "1.bias"}


def test_an_empty_stack_is_a_stack():
    assert list(Stack([])) == []
