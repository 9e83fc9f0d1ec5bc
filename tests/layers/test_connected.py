"""Fully connected layers over positions: the formula in plain loops, what they cost, and where they end."""

import pytest
import torch
from torch.testing import assert_close

from regard.accelerate.cpu import lean
from regard.accelerate.stack.residuals import FusedResiduals
from regard.attention import Causal, Packed, Padding, Segments
from regard.errors import UsageError
from regard.layers import Connected, Residual
from regard.models import ModelSettings, Sizes, TransformerSettings, build, count_parameters
from tests.models.zoo import fresh, transformer, transformer_reader

WIDTH, LENGTH, RADIUS, LONGEST = 5, 7, 2, 11
SWITCHES = {
    "residual": {"residual": False},
    "norm": {"norm": "none"},
    "feedforward": {"feedforward": 0},
    "mixing": {"mixing": "window"},
}


def layer(over, size):
    torch.manual_seed(3)
    made = Connected(WIDTH, over, size).double()
    with torch.no_grad():
        made.map.bias.add_(torch.randn_like(made.map.bias))
    return made


def test_over_a_window_every_position_has_the_same_weights():
    made, states = layer("window", RADIUS), torch.randn(3, LENGTH, WIDTH).double()
    lengths = [LENGTH, 4, 0]
    found = made.within(states, Padding(torch.tensor(lengths)))
    weight = made.map.weight.view(WIDTH, 2 * RADIUS + 1, WIDTH)  # (out, offset, in)
    for row, length in enumerate(lengths):
        for i in range(LENGTH):
            expected = made.map.bias.clone()
            for offset in range(-RADIUS, RADIUS + 1):
                if 0 <= i + offset < length:
                    expected = expected + weight[:, offset + RADIUS] @ states[row, i + offset]
            assert_close(found[row, i], expected)


def test_over_the_whole_every_pair_of_positions_has_weights_of_its_own():
    made, states = layer("whole", LONGEST), torch.randn(2, LENGTH, WIDTH).double()
    found = made.within(states, Padding(torch.tensor([LENGTH, 3])))
    weight = made.map.weight.view(LONGEST, WIDTH, LONGEST, WIDTH)
    for row, length in enumerate((LENGTH, 3)):
        for i in range(LENGTH):
            expected = made.map.bias.view(LONGEST, WIDTH)[i].clone()
            for j in range(length):
                expected = expected + weight[i, :, j] @ states[row, j]
            assert_close(found[row, i], expected)


@pytest.mark.parametrize("over", ["window", "whole"])
def test_gradients_are_right(over):
    made = layer(over, 2 if over == "window" else 4)
    states = torch.randn(2, 4, WIDTH).double().requires_grad_()
    padding = Padding(torch.tensor([4, 2]))
    assert torch.autograd.gradcheck(lambda x: made.within(x, padding), states)


def parameters(**choices):
    settings = TransformerSettings(
        width=16, layers=1, heads=2, feedforward=0, norm="none", **choices
    )
    model = build(
        ModelSettings(encoder=settings, reader={"kind": "tag"}), Sizes(source=9, labels=3)
    )
    return count_parameters(model.encoder.blocks)


def test_parameters_grow_with_the_window_and_with_the_square_of_the_length():
    attention = [parameters(max_length=n) for n in (10, 20)]
    windows = [parameters(mixing="window", reach_size=r) for r in (1, 2, 3)]
    whole = [parameters(mixing="whole", max_length=n) for n in (10, 20)]
    assert attention == [4 * (16 * 16 + 16)] * 2
    assert windows == [(2 * r + 1) * 16 * 16 + 16 for r in (1, 2, 3)]
    assert whole == [(n * 16) ** 2 + n * 16 for n in (10, 20)]


def test_what_it_cannot_read_is_refused():
    made = layer("whole", 3)
    with pytest.raises(UsageError, match="over 3 positions cannot read 4"):
        made.within(torch.zeros(1, 4, WIDTH).double())
    with pytest.raises(UsageError, match="no pairs that a causal mask"):
        made.within(torch.zeros(1, 2, WIDTH).double(), Causal())
    for choice in ({"position": "rotary"}, {"position": "alibi"}, {"reach": "window"}):
        settings = ModelSettings(
            encoder=transformer(mixing="whole", **choice), reader={"kind": "tag"}
        )
        with pytest.raises(UsageError, match="has no heads that could be told"):
            build(settings, Sizes(source=9, labels=3))


@pytest.mark.parametrize("order", ["pre", "post", "none"])
@pytest.mark.parametrize("adds", [True, False])
def test_a_residual_adds_and_normalises_as_it_is_told(order, adds):
    torch.manual_seed(1)
    residual, states = Residual(WIDTH, order=order, adds=adds), torch.randn(2, 3, WIDTH)
    opened = residual.norm(states) if order == "pre" else states
    expected = 3 * opened + (states if adds else 0)
    expected = residual.norm(expected) if order == "post" else expected
    assert_close(residual(states, lambda x: 3 * x), expected)
    assert (residual.norm is None) == (order == "none")


def test_without_norm_feedforward_and_scale_a_block_only_averages_its_values():
    """Attention alone re-averages: each context lies between the smallest and the largest value (L103)."""
    model = fresh("transformer-nothing-but-attention-tag")
    block = model.encoder.blocks[0]
    assert block.feedforward is None
    assert block.feedforward_residual is None
    states = torch.randn(2, 7, 12)
    heads = block.attention
    value = heads.value(states).unflatten(2, (3, -1)).transpose(1, 2)
    context = heads.context_within(states, None)
    least, most = value.amin(2, keepdim=True), value.amax(2, keepdim=True)
    assert ((context >= least - 1e-6) & (context <= most + 1e-6)).all()
    assert_close(block(states), heads.merge(context))


@pytest.mark.parametrize("name", SWITCHES)
def test_fast_forms_leave_a_stack_alone_that_lacks_a_part(name):
    """Of the whole stack every form takes hold; of one with a part taken away none does."""
    switch = SWITCHES[name]
    reader = {key: value for key, value in switch.items() if key != "mixing"}
    sizes, segments = Sizes(source=13, target=13), Segments.of(torch.tensor([3, 4]))
    mask, states = Packed(segments, segments), torch.zeros(1, 7, 12)
    fused = FusedResiduals(devices=("cpu",), installed=True)

    whole = build(ModelSettings(encoder=transformer(), reader=transformer_reader()), sizes).eval()
    assert fused.takes(whole.encoder, states, mask, ())
    assert lean(whole) is not None

    settings = ModelSettings(encoder=transformer(**switch), reader=transformer_reader(**reader))
    lacking = build(settings, sizes).eval()
    assert not fused.takes(lacking.encoder, states, mask, ())
    assert reader == {} or lean(lacking) is None
