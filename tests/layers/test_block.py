"""The Transformer's blocks: each part behind its residual, all at once or step by step."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import Attention, Causal, Heads, Padding, ScaledDot, Softmax
from regard.layers import DecoderBlock, EncoderBlock, FeedForward, Residual

WIDTH = 6
orders = pytest.mark.parametrize("order", ["pre", "post"])


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(5)


def heads():
    return Heads(WIDTH, 2, Attention(ScaledDot(), Softmax()))


def residuals(order, count):
    return tuple(Residual(WIDTH, order=order) for _ in range(count))


def encoder_block(order="pre"):
    return EncoderBlock(heads(), FeedForward(WIDTH, 11), residuals(order, 2))


def decoder_block(order="pre", cross=True):
    return DecoderBlock(
        heads(), heads() if cross else None, FeedForward(WIDTH, 11), residuals(order, 3)
    )


@orders
def test_an_encoder_block_is_two_residuals_in_turn(order):
    block, states = encoder_block(order), torch.randn(2, 5, WIDTH)
    first, second = block.attention_residual.norm, block.feedforward_residual.norm

    def read(states):
        return block.attention(states, block.attention.remember(states))

    if order == "pre":
        between = states + read(first(states))
        expected = between + block.feedforward(second(between))
    else:
        between = first(states + read(states))
        expected = second(between + block.feedforward(between))

    assert_close(block(states), expected)


@orders
def test_a_decoder_block_reads_itself_then_the_source(order):
    block, states = decoder_block(order), torch.randn(2, 5, WIDTH)
    source = block.cross.remember(torch.randn(2, 7, WIDTH), Padding(torch.tensor([7, 3])))
    for residual in (block.attention_residual, block.cross_residual, block.feedforward_residual):
        residual.norm = torch.nn.Identity()

    between = states + block.attention(states, block.attention.remember(states, Causal()))
    between = between + block.cross(between, source)
    expected = between + block.feedforward(between)

    assert_close(block(states, Causal(), source), expected)


@orders
@pytest.mark.parametrize("cross", [True, False], ids=["cross", "alone"])
def test_steps_are_the_whole(order, cross):
    block, states = decoder_block(order, cross), torch.randn(2, 5, WIDTH)
    source = block.cross.remember(torch.randn(2, 7, WIDTH)) if cross else None
    whole = block(states, Causal(), source)
    cache = block.attention.room(states, 2, 5, Causal())
    found = []
    for piece in states.split([1, 3, 1], 1):
        after, cache = block.step(piece, cache, source)
        found.append(after)

    assert_close(torch.cat(found, 1), whole, atol=1e-5, rtol=1e-5)


def test_a_block_without_a_source_has_no_weights_for_one():
    names = {name.split(".")[0] for name, _ in decoder_block(cross=False).named_parameters()}

    assert names == {"attention", "feedforward", "attention_residual", "feedforward_residual"}
