"""Against PyTorch's own attention, with the same weights, side by side."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regard.attention import (
    Attention,
    Causal,
    Given,
    Heads,
    Padding,
    ScaledDot,
    Softmax,
    Window,
    attend,
    watch,
)

BATCH, QUERIES, KEYS, HEADS, HEAD_WIDTH = 2, 5, 11, 3, 7
WIDTH, KEY_WIDTH, VALUE_WIDTH = HEADS * HEAD_WIDTH, 13, 17
LENGTHS = torch.tensor([11, 4])
FORBIDDEN = torch.rand(QUERIES, KEYS, generator=torch.Generator().manual_seed(3)) > 0.7


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(31)


def same_weights(theirs, bias):
    """Heads with the weights of a MultiheadAttention; the source is its key and value side by side."""
    source = theirs.kdim + theirs.vdim
    ours = Heads(WIDTH, HEADS, Attention(ScaledDot(), Softmax()), source_width=source, bias=bias)
    if theirs.in_proj_weight is None:
        projections = theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight
    else:
        projections = theirs.in_proj_weight.chunk(3)
    with torch.no_grad():
        query, key, value = projections
        ours.query.weight.copy_(query)
        ours.key.weight.copy_(F.pad(key, (0, theirs.vdim)))
        ours.value.weight.copy_(F.pad(value, (theirs.kdim, 0)))
        ours.output.weight.copy_(theirs.out_proj.weight)
        if bias:
            nn.init.normal_(theirs.in_proj_bias)
            nn.init.normal_(theirs.out_proj.bias)
            for layer, part in zip(
                (ours.query, ours.key, ours.value), theirs.in_proj_bias.chunk(3), strict=True
            ):
                layer.bias.copy_(part)
            ours.output.bias.copy_(theirs.out_proj.bias)
    return ours.eval()


MASKS = {
    "none": (None, {}),
    "key padding": (
        Padding(LENGTHS),
        {"key_padding_mask": torch.arange(KEYS) >= LENGTHS[:, None]},
    ),
    "pattern": (Given(~FORBIDDEN[None, None]), {"attn_mask": FORBIDDEN}),
    "padding and pattern": (
        Padding(LENGTHS) & ~FORBIDDEN,
        {"key_padding_mask": torch.arange(KEYS) >= LENGTHS[:, None], "attn_mask": FORBIDDEN},
    ),
    "causal": (Causal(), {"attn_mask": torch.ones(QUERIES, KEYS).triu(1).bool()}),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize(
    "widths", [(WIDTH, WIDTH), (KEY_WIDTH, VALUE_WIDTH)], ids=["self", "cross"]
)
def test_multihead_attention(mask, bias, widths):
    theirs = nn.MultiheadAttention(
        WIDTH, HEADS, bias=bias, kdim=widths[0], vdim=widths[1], batch_first=True
    ).eval()
    ours = same_weights(theirs, bias)
    query = torch.randn(BATCH, QUERIES, WIDTH)
    key, value = (torch.randn(BATCH, KEYS, width) for width in widths)
    our_mask, their_masks = MASKS[mask]

    expected, weights = theirs(query, key, value, average_attn_weights=False, **their_masks)
    with watch(ours) as seen:
        found = ours(query, ours.remember(torch.cat([key, value], -1), our_mask))

    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(seen.weights("attention"), weights, atol=1e-6, rtol=1e-5)


def test_multihead_attention_learns_alike():
    theirs = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    ours = same_weights(theirs, bias=True)
    states = torch.randn(BATCH, QUERIES, WIDTH)

    theirs(states, states, states, need_weights=False)[0].square().sum().backward()
    ours(states, ours.remember(torch.cat([states, states], -1))).square().sum().backward()

    query, key, value = theirs.in_proj_weight.grad.chunk(3)
    for ours_grad, theirs_grad in (
        (ours.query.weight.grad, query),
        (ours.key.weight.grad[:, :WIDTH], key),
        (ours.value.weight.grad[:, WIDTH:], value),
        (ours.output.weight.grad, theirs.out_proj.weight.grad),
    ):
        torch.testing.assert_close(ours_grad, theirs_grad, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("mask", [None, Causal(), Window(1, 2), Padding(LENGTHS)], ids=str)
def test_scaled_dot_product_attention(mask):
    shapes = (QUERIES, HEAD_WIDTH), (KEYS, HEAD_WIDTH), (KEYS, VALUE_WIDTH)
    query, key, value = (torch.randn(BATCH, HEADS, *shape) for shape in shapes)
    allowed = None if mask is None else mask.to_bool(QUERIES, KEYS, batch=BATCH)

    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)

    torch.testing.assert_close(attend(query, key, value, mask=mask), expected)
