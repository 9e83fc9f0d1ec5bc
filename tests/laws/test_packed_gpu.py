"""The packed kernel and the loss kernel on a GPU: equal to the formula in float64, gradients too.

Without a GPU the same programs run by Triton's interpreter, where it is installed: TRITON_INTERPRET=1.
"""

import os
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.accelerate.attend import PackedKernel
from regard.accelerate.triton import segments
from regard.accelerate.vocabulary_loss import ChunkedLoss
from regard.attention import (
    Attention,
    Causal,
    Heads,
    Packed,
    Packing,
    Room,
    ScaledDot,
    Segments,
    Softmax,
)
from regard.models.readers import summed_loss, summed_loss_of
from regard.seams import using

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1" and find_spec("triton") is not None

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(DEVICE == "cpu" and not INTERPRETED, reason="needs CUDA"),
]

CLOSE = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}
if DEVICE == "cpu":
    del CLOSE[torch.bfloat16]  # which the interpreter multiplies as integers


def away(found: torch.Tensor, wanted: torch.Tensor) -> float:
    found, wanted = found.detach().double(), wanted.detach()
    return float((found - wanted).norm() / wanted.norm())


# Lengths on both sides, and how many places are empty: some are longer than a tile, others share one.
LAYOUTS = {
    "long": ([3, 64, 0, 71, 130, 1, 257, 17], [5, 17, 2, 67, 64, 0, 311, 1], 131),
    "of a tile": ([64, 3, 0, 61, 1, 47], [17, 64, 2, 59, 0, 64], 131),
    "short": ([3, 32, 0, 41, 1, 65, 7, 2], [33, 31, 2, 29, 0, 97, 1, 32], 3),
    "shorter": ([3, 32, 0, 17, 1, 31, 2, 5, 3, 7, 11], [32, 3, 2, 29, 0, 1, 5, 7, 1, 2, 3], 7),
}


# Wide heads in float32 take a compiler minutes, and nobody trains so on a GPU.
KINDS = [(16, torch.float32), (16, torch.float16)]
if DEVICE == "cuda":
    KINDS += [(64, torch.bfloat16), (64, torch.float16), (128, torch.bfloat16)]


@pytest.mark.parametrize(("width", "dtype"), KINDS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_packed_attention(width, dtype, causal, layout):
    torch.manual_seed(width)
    queries, keys, empty = (np.array(told) for told in LAYOUTS[layout])
    keys = queries if causal else keys
    places = int(queries.sum() + empty), int(keys.sum()) + (int(empty) if causal else 7)
    room = Room(19, 37)
    packing = Packing.of((queries, keys), places, room).to(torch.device(DEVICE))
    packing = Packed(packing.source, packing.target)
    sizes = places[0], places[1], places[1]
    joined = [torch.randn(1, size, 3, 2 * width, device=DEVICE, dtype=dtype) for size in sizes]
    query, key, value = (one[..., width:].transpose(1, 2).requires_grad_() for one in joined)
    found = segments.attend(query, key, value, packing, causal, 0.3)
    mask = packing & Causal() if causal else packing
    allowed = mask.to_bool(*sizes[:2], device=DEVICE)
    wide = [one.detach().double().requires_grad_() for one in (query, key, value)]
    scores = (wide[0] @ wide[1].transpose(-1, -2) * 0.3).masked_fill(~allowed, -1e300)
    expected = (scores.softmax(-1) * allowed) @ wide[2]
    pull = torch.randn_like(expected)
    gradients = torch.autograd.grad(found, (query, key, value), pull.to(dtype))
    wanted = torch.autograd.grad(expected, wide, pull)
    assert away(found, expected) < CLOSE[dtype]
    assert not found[:, :, int(queries.sum()) :].any()
    for one, other in zip(gradients, wanted, strict=True):
        assert one.isfinite().all()
        assert away(one, other) < CLOSE[dtype]


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_side_by_side_is_apart(causal, gated):
    """Gradients of queries, keys and values in one tensor are those of three."""
    torch.manual_seed(3)
    heads = Heads(12, 3, Attention(ScaledDot(), Softmax()), key_width=16).to(DEVICE)
    heads.gate = torch.tensor([0.5, 2.0, 0.0] if gated else [1.0] * 3, device=DEVICE)
    row = Segments.of(torch.tensor([3, 0, 41, 1, 197, 2, 37], device=DEVICE), 293)
    mask = Causal() & Packed(row, row) if causal else Packed(row, row)
    states = torch.randn(1, 293, 12, device=DEVICE, requires_grad=True)
    kernel = PackedKernel(devices=(DEVICE,))
    assert kernel.takes_within(heads, states, mask)
    with using(attend=[kernel]):
        apart = heads(states, heads.remember(states, mask))
    found = heads.merge(kernel.attend_within(heads, states, mask)), apart
    pull = torch.randn_like(found[0])
    leaves = [states, *heads.parameters()]
    assert_close(*found, rtol=1e-5, atol=1e-6)
    assert_close(*(torch.autograd.grad(one, leaves, pull) for one in found), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [dtype for dtype in CLOSE if dtype != torch.float16])
@pytest.mark.parametrize("bias", [False, True])
def test_loss_by_chunks(dtype, bias):
    torch.manual_seed(1)
    output = torch.nn.Linear(67, 9_973, bias=bias, device=DEVICE)
    states = torch.randn(1_009, 67, device=DEVICE, dtype=dtype).requires_grad_()
    targets = torch.randint(0, 9_973, (1_009,), device=DEVICE)
    targets[::5] = -100
    half = torch.autocast(DEVICE, torch.bfloat16, enabled=dtype is torch.bfloat16)
    with half, using(loss=[ChunkedLoss(whole=0, chunk=1 << 20)]):
        found = summed_loss_of(states, output, targets, 0.1)
    wide = torch.nn.Linear(67, 9_973, bias=bias, device=DEVICE, dtype=torch.float64)
    wide.load_state_dict(output.state_dict())
    wider = states.detach().double().requires_grad_()
    expected = summed_loss(wide(wider), targets, 0.1)
    rough = 1e-3 if dtype is torch.bfloat16 else 1e-5
    assert_close(float(found.detach()), float(expected.detach()), rtol=rough, atol=0)
    gradients = torch.autograd.grad(found, [states, *output.parameters()])
    wanted = torch.autograd.grad(expected, [wider, *wide.parameters()])
    for one, other in zip(gradients, wanted, strict=True):
        assert away(one, other) < CLOSE[dtype]


@pytest.mark.parametrize("block", [256, 1 << 14], ids=["in pieces", "at once"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("symbols", [1031, 1024], ids=["some columns empty", "all full"])
def test_a_row_of_logits_turns_into_its_gradient(block, smoothing, symbols):
    from regard.accelerate.triton import rows_kernels

    torch.manual_seed(1)
    targets = torch.tensor([5, -100, symbols - 1, 0], device=DEVICE)
    logits = 5 * torch.randn(4, -(-symbols // 64) * 64, device=DEVICE)
    logits[2] += 300  # whose exponential is no number any more
    logits[1] = torch.nan  # what is not judged may be anything
    wide = logits[:, :symbols].double().requires_grad_()
    expected = summed_loss(wide[[0, 2, 3]], targets[[0, 2, 3]], smoothing)
    (wanted,) = torch.autograd.grad(expected, wide)
    losses = rows_kernels.turn(logits, targets, symbols, smoothing, -100, block)
    assert losses[1] == 0
    assert_close(float(losses.sum()), float(expected.detach()), rtol=1e-5, atol=0)
    assert_close(logits[:, :symbols].double(), wanted, rtol=1e-4, atol=1e-6)
    assert not logits[:, symbols:].any()


@pytest.mark.parametrize("bias", [False, True])
def test_the_operator_is_what_it_says_to_the_compiler(bias):
    joined = torch.randn(1, 53, 96, device=DEVICE, requires_grad=True)
    added = torch.randn(96, device=DEVICE, requires_grad=True) if bias else None
    row = Segments.of(torch.tensor([3, 0, 41, 9], device=DEVICE))
    layout = row.numbers, row.tiles
    torch.library.opcheck(segments._within, (joined, added, *layout, 41, 2, True, 0.3))
