"""The feed-forward network on a GPU: equal to the formula in float64, gradients too.

Without a GPU the Triton program runs by its interpreter, where that is installed: TRITON_INTERPRET=1.
"""

import os
from importlib.util import find_spec

import pytest
import torch

from regard.accelerate.triton import feedforward_op
from regard.layers import FeedForward

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1" and find_spec("triton") is not None

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(DEVICE == "cpu" and not INTERPRETED, reason="needs a GPU"),
]

CLOSE = {torch.float32: 1e-6, torch.bfloat16: 1e-2, torch.float16: 2e-3}


def away(found, wanted):
    found, wanted = found.detach().double(), wanted.detach()
    return float((found - wanted).norm() / wanted.norm())


@pytest.mark.parametrize("dtype", list(CLOSE))
@pytest.mark.parametrize("shape", [(1, 3), (37, 1031), (1009, 67)])
def test_what_passes_and_its_sum(shape, dtype):
    from regard.accelerate.triton import feedforward_kernels as programs

    torch.manual_seed(shape[0])
    gradient, found = (torch.randn(shape, device=DEVICE).to(dtype) for _ in range(2))
    found[0] = found[0].abs() + 1
    passed, summed = programs.bent(gradient, found.relu())
    wanted = gradient.double() * (found > 0)
    assert passed.double().equal(wanted)
    assert away(summed, wanted.sum(0)) < 1e-5


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16] if DEVICE == "cuda" else [torch.float16]
)
@pytest.mark.parametrize("shape", [(1, 8, 8), (131, 72, 264), (1031, 136, 520)])
def test_a_product_that_bends_last(shape, dtype):
    """The interpreter has no product of bfloat16."""
    from regard.accelerate.triton import feedforward_kernels as programs

    torch.manual_seed(shape[0])
    rows, width, inner = shape
    gradient = torch.randn(rows, width, device=DEVICE).to(dtype)
    narrow = torch.randn(width, inner, device=DEVICE).to(dtype)
    inside = torch.randn(rows, inner, device=DEVICE).to(dtype).relu()
    inside[0] += 1
    passed, summed = programs.product(gradient, narrow, inside)
    wanted = (gradient.double() @ narrow.double()) * (inside > 0)
    assert not passed[inside <= 0].any()
    assert away(passed, wanted) < CLOSE[dtype]
    assert away(summed, wanted.sum(0)) < 1e-5


@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("sizes", [(67, 131), (72, 136), (512, 2048)])
def test_the_network_in_half_precision(monkeypatch, sizes, dtype):
    monkeypatch.setattr(feedforward_op, "LARGE", 0)
    torch.manual_seed(1)
    network = FeedForward(*sizes).to(DEVICE)
    torch.nn.init.normal_(network.widen.bias)
    # Weights that the type can hold: else what is just above 0 in one is just below in the other.
    network.to(dtype).float()
    states = torch.randn(3, 211, sizes[0], device=DEVICE, dtype=dtype, requires_grad=True)
    exact = FeedForward(*sizes).double().to(DEVICE)
    exact.load_state_dict(network.state_dict())
    wide = states.detach().double().requires_grad_()
    with torch.autocast("cuda", dtype):
        assert feedforward_op.takes(states, network.widen)
        found = network(states)
    expected = exact(wide)
    pull = torch.randn_like(expected)
    gradients = torch.autograd.grad(found, [states, *network.parameters()], pull.to(found.dtype))
    wanted = torch.autograd.grad(expected, [wide, *exact.parameters()], pull)
    for one, other in zip((found, *gradients), (expected, *wanted), strict=True):
        assert away(one, other) < 3 * CLOSE[dtype]
