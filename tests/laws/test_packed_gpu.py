"""The packed kernel and the loss kernel on a GPU: equal to the formula in float64, gradients too."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import Causal, Packed, Segments
from regard.attention.kernels import segments
from regard.tasks.loss import summed_loss, summed_loss_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA"),
]

CLOSE = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}


def away(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return float((found.double() - wanted).norm() / wanted.norm())


@pytest.mark.parametrize("width", [16, 64, 128])
@pytest.mark.parametrize("dtype", list(CLOSE))
@pytest.mark.parametrize("causal", [False, True])
def test_packed_attention(width, dtype, causal):
    torch.manual_seed(width)
    queries = torch.tensor([3, 64, 0, 71, 130, 1, 257, 17], device="cuda")
    keys = queries if causal else torch.tensor([5, 17, 2, 67, 64, 0, 311, 1], device="cuda")
    asked = Segments.of(queries, int(queries.sum()) + 131)
    told = asked if causal else Segments.of(keys, int(keys.sum()) + 7)
    sizes = asked.positions.shape[1], told.positions.shape[1], told.positions.shape[1]
    joined = [torch.randn(1, size, 3, 2 * width, device="cuda", dtype=dtype) for size in sizes]
    query, key, value = (one[..., width:].transpose(1, 2).requires_grad_() for one in joined)
    packing = Packed(asked, told)
    found = segments.attend(query, key, value, packing, causal, 0.3)
    mask = packing & Causal() if causal else packing
    allowed = mask.to_bool(*sizes[:2], device="cuda")
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bias", [False, True])
def test_loss_by_chunks(monkeypatch, dtype, bias):
    monkeypatch.setattr("regard.tasks.loss.WHOLE", 0)
    monkeypatch.setattr("regard.tasks.loss.CHUNK", 1 << 20)
    torch.manual_seed(1)
    output = torch.nn.Linear(67, 9_973, bias=bias, device="cuda")
    states = torch.randn(1_009, 67, device="cuda", dtype=dtype).requires_grad_()
    targets = torch.randint(0, 9_973, (1_009,), device="cuda")
    targets[::5] = -100
    with torch.autocast("cuda", torch.bfloat16, enabled=dtype is torch.bfloat16):
        found = summed_loss_of(states, output, targets, 0.1)
    wide = torch.nn.Linear(67, 9_973, bias=bias, device="cuda", dtype=torch.float64)
    wide.load_state_dict(output.state_dict())
    wider = states.detach().double().requires_grad_()
    expected = summed_loss(wide(wider), targets, 0.1)
    assert_close(
        float(found), float(expected), rtol=1e-3 if dtype is torch.bfloat16 else 1e-5, atol=0
    )
    gradients = torch.autograd.grad(found, [states, *output.parameters()])
    wanted = torch.autograd.grad(expected, [wider, *wide.parameters()])
    for one, other in zip(gradients, wanted, strict=True):
        assert away(one, other) < CLOSE[dtype]
