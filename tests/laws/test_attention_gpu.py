"""On a GPU, compiled FlexAttention and the fused kernels keep to the formula, gradients included."""

import pytest
import torch

from regard.accelerate.attend import Columns
from regard.attention import (
    Alibi,
    Attention,
    Causal,
    Given,
    Padding,
    ScaledDot,
    Softmax,
    Strided,
    Window,
)
from regard.seams import using

pytestmark = [
    pytest.mark.slow,
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]

BATCH, HEADS, LENGTH, WIDTH = 3, 2, 211, 16
LENGTHS = [211, 100, 0]


def make_mask(name):
    padding = Padding(torch.tensor(LENGTHS, device="cuda"))
    match name:
        case "padding":
            return padding
        case "padding&causal":
            return padding & Causal()
        case "padding&window":
            return padding & Window(5, 3)
        case "padding&strided":
            return padding & Causal() & Strided(7)
        case "padding&given":
            chance = torch.Generator("cuda").manual_seed(3)
            pattern = torch.rand(1, HEADS, LENGTH, LENGTH, device="cuda", generator=chance) > 0.5
            return padding & Given(pattern)


@pytest.mark.parametrize("bias", [False, True], ids=["plain", "alibi"])
@pytest.mark.parametrize(
    "name", ["padding", "padding&causal", "padding&window", "padding&strided", "padding&given"]
)
def test_a_gpu_keeps_to_the_formula(name, bias):
    torch.manual_seed(7)
    attention = Attention(ScaledDot(), Softmax(), bias=Alibi(HEADS) if bias else None).cuda()
    inputs = [
        torch.randn(BATCH, HEADS, LENGTH, WIDTH, device="cuda", requires_grad=True)
        for _ in range(3)
    ]
    memory = attention.remember(inputs[1], inputs[2], make_mask(name))
    both = attention(inputs[0], memory), attention.align(inputs[0], memory).context

    torch.testing.assert_close(*both, atol=1e-4, rtol=1e-4)
    assert (both[0][2] == 0).all()
    gradients = [
        torch.autograd.grad(context.square().sum(), inputs, retain_graph=True) for context in both
    ]
    for found, expected in zip(*gradients, strict=True):
        assert found.isfinite().all()
        torch.testing.assert_close(found, expected, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("mask", [Causal() & Strided(7), Strided(11)], ids=["causal", "ahead"])
def test_strides_taken_apart_keep_to_the_formula(mask):
    columns = Columns(least=0)
    torch.manual_seed(7)
    attention, length = Attention(ScaledDot(), Softmax()).cuda(), 23 * 11
    inputs = [
        torch.randn(BATCH, HEADS, length, WIDTH, device="cuda", requires_grad=True)
        for _ in range(3)
    ]
    memory = attention.remember(inputs[1], inputs[2], mask)
    assert columns.takes(attention, inputs[0], memory, mask)
    with using(attend=[columns]):
        taken = attention(inputs[0], memory)
    both = taken, attention.align(inputs[0], memory).context

    torch.testing.assert_close(*both, atol=1e-4, rtol=1e-4)
    gradients = [torch.autograd.grad(context.square().sum(), inputs) for context in both]
    for found, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-3, rtol=1e-3)
