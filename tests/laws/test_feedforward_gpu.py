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
    from regard.accelerate.triton.rows_kernels import masked

    torch.manual_seed(shape[0])
    gradient, found = (torch.randn(shape, device=DEVICE).to(dtype) for _ in range(2))
    found[0] = found[0].abs() + 1
    passed, summed = masked(gradient, found.relu())
    wanted = gradient.double() * (found > 0)
    assert passed.double().equal(wanted)
    assert away(summed, wanted.sum(0)) < 1e-5


@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("sizes", [(67, 131), (72, 136), (512, 2048)])
def test_the_network_in_half_precision(sizes, dtype):
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
        assert feedforward_op.fits(states, network.widen)
        found = feedforward_op.feedforward(states, network.widen, network.narrow, late=False)
    expected = exact(wide)
    pull = torch.randn_like(expected)
    gradients = torch.autograd.grad(found, [states, *network.parameters()], pull.to(found.dtype))
    wanted = torch.autograd.grad(expected, [wide, *exact.parameters()], pull)
    for one, other in zip((found, *gradients), (expected, *wanted), strict=True):
        assert away(one, other) < 3 * CLOSE[dtype]
