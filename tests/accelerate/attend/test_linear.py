import pytest
import torch

from regard.accelerate.attend import linear
from regard.accelerate.attend.linear import Linear, LinearState
from regard.attention import Attention, Causal, FeatureMap, Given, Padding, Proportional, Window

BATCH, HEADS, LENGTH, WIDTH, VALUE_WIDTH = 2, 3, 5, 7, 11


def draw(length=LENGTH):
    return (
        torch.rand(BATCH, HEADS, length, WIDTH, dtype=torch.float64),
        torch.randn(BATCH, HEADS, length, VALUE_WIDTH, dtype=torch.float64),
    )


def test_it_takes_padding_and_causality_and_nothing_finer():
    attention, states = Attention(FeatureMap(), Proportional()), torch.rand(1, 1, 5, 3)
    memory, padding = attention.remember(states, states), Padding(torch.tensor([3]))

    def takes(mask):
        return Linear().takes(attention, states, memory, mask)

    assert all(takes(mask) for mask in (None, Causal(), padding, Causal() & padding))
    others = Window(1, 1), Causal() & Window(1, 1), Given(torch.ones(1, 1, 1, 1, dtype=torch.bool))
    assert not any(takes(mask) for mask in others)


def test_states_add_up():
    """What was read in two parts is what was read at once."""
    key, value = draw()
    parts = LinearState.of(key[:, :, :2], value[:, :, :2]) + LinearState.of(
        key[:, :, 2:], value[:, :, 2:]
    )
    whole = LinearState.of(key, value)
    torch.testing.assert_close(parts.sum, whole.sum)
    torch.testing.assert_close(parts.total, whole.total)


def test_a_state_of_one_key_reads_its_value():
    key, value = draw(1)
    query, _ = draw()
    read = LinearState.of(key, value).read(query)
    torch.testing.assert_close(read, value.expand_as(read))


def test_an_empty_state_reads_zero():
    key, value = draw(0)
    query, _ = draw()
    assert (LinearState.of(key, value).read(query) == 0).all()


def test_the_size_of_a_state_does_not_grow():
    sizes = {tuple(LinearState.of(*draw(length)).sum.shape) for length in (1, 5, 50)}
    assert sizes == {(BATCH, HEADS, WIDTH, VALUE_WIDTH)}


@pytest.mark.parametrize("mask", [None, Causal()], ids=["whole", "causal"])
@pytest.mark.parametrize("length", [3, linear.CHUNK + 1])
def test_gradients_are_those_of_the_formula(mask, length):
    attention = Attention(FeatureMap(), Proportional())
    inputs = [states.requires_grad_() for states in (draw(length)[0], *draw(length))]
    query, key, value = inputs
    memory = attention.remember(key, value, mask)
    both = Linear().attend(attention, query, memory, mask), attention.align(query, memory).context
    found, expected = (
        torch.autograd.grad(context.square().sum(), inputs, retain_graph=True) for context in both
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
