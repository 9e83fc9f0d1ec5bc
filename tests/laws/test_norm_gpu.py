"""The norm's own kernels keep to the formula in float64, gradients included, alone and behind a sum.

Without a GPU the same programs run by Triton's interpreter, where it is installed: TRITON_INTERPRET=1.
"""

import os
from importlib.util import find_spec

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from regard.accelerate.stack import FusedResiduals
from regard.accelerate.triton import norm_op
from regard.attention import Causal
from regard.models import ModelSettings, Sizes, build
from regard.seams import using

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1" and find_spec("triton") is not None

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(DEVICE == "cpu" and not INTERPRETED, reason="needs a GPU"),
]

CLOSE = {torch.float32: 2e-6, torch.bfloat16: 6e-3, torch.float16: 1e-3}
SHAPES = [(1, 1), (5, 3, 67), (2, 509), (3, 1031)]
if DEVICE == "cuda":
    SHAPES += [(1, 4099, 512), (1, 4099, 1024), (37, 8191)]


@pytest.fixture(autouse=True)
def _same_chance():
    torch.manual_seed(3)


def draw(shape, dtype):
    states, change = (torch.randn(shape, device=DEVICE).to(dtype) for _ in range(2))
    weights = [torch.randn(shape[-1], device=DEVICE) for _ in range(2)]
    return [one.requires_grad_() for one in (states, change, *weights)]


def wide(tensors):
    return [one.detach().double().requires_grad_() for one in tensors]


def away(found, wanted):
    """Of the numbers' own size, and of one where they are smaller: a gradient may be exactly zero."""
    found, wanted = found.detach(), wanted.detach()
    return float((found.double() - wanted).norm() / wanted.norm().clamp(min=1.0))


@pytest.mark.parametrize("dtype", list(CLOSE))
@pytest.mark.parametrize("shape", SHAPES)
def test_the_norm_alone(shape, dtype):
    states, _, weight, bias = draw(shape, dtype)
    exact = wide([states, weight, bias])
    expected = F.layer_norm(exact[0], shape[-1:], *exact[1:], eps=1e-5)
    found = norm_op.norm(states + 0, weight, bias, 1e-5)
    pull = torch.randn_like(found)
    assert found.dtype == dtype
    gradients = torch.autograd.grad(found, (states, weight, bias), pull)
    wanted = torch.autograd.grad(expected, exact, pull.double())
    for one, other in zip((found, *gradients), (expected, *wanted), strict=True):
        assert away(one, other) < CLOSE[dtype]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("dtype", list(CLOSE))
@pytest.mark.parametrize("shape", SHAPES[1:])
def test_the_norm_behind_a_sum(shape, dtype, dropout):
    leaves = draw(shape, dtype)
    late = torch.zeros(shape[-1], device=DEVICE, requires_grad=True)  # which is in the change
    torch.manual_seed(11)
    joined, normed = norm_op.add_norm(*leaves, 1e-5, dropout, late)
    torch.manual_seed(11)
    like = torch.zeros_like(joined)
    kept = norm_op.add_norm(like, like + 1, *leaves[2:], 1e-5, dropout)[0] != 0
    exact = wide([*leaves, late])
    whole = exact[0] + (exact[1] + exact[4]) * kept / (1 - dropout)
    expected = F.layer_norm(whole, shape[-1:], *exact[2:4], eps=1e-5)
    pulls = [torch.randn_like(joined) for _ in range(2)]
    gradients = torch.autograd.grad((joined, normed), [*leaves, late], pulls)
    wanted = torch.autograd.grad((whole, expected), exact, [pull.double() for pull in pulls])
    for one, other in zip((joined, normed, *gradients), (whole, expected, *wanted), strict=True):
        assert away(one, other) < 3 * CLOSE[dtype]


@pytest.mark.parametrize("shape", [(1, 1), (3, 211, 67), (2, 1031, 8), (300, 96)])
def test_rows_added_up(shape):
    from regard.accelerate.triton.rows_kernels import add_up

    parts = torch.randn(shape, device=DEVICE)
    assert away(add_up(parts), parts.double().sum(-2)) < 1e-5


def masks(count, dropout, rows=211, width=257):
    """What dropout kept, of several draws."""
    zeros, ones = torch.zeros(rows, width, device=DEVICE), torch.ones(rows, width, device=DEVICE)
    vector = torch.ones(width, device=DEVICE)
    drawn = [norm_op.add_norm(zeros, ones, vector, vector, 1e-5, dropout)[0] for _ in range(count)]
    return torch.stack(drawn) != 0


def test_dropout_keeps_its_share_and_places_know_nothing_of_one_another():
    dropout, count = 0.3, 5
    kept = masks(count, dropout).double() - (1 - dropout)
    deviation = (dropout * (1 - dropout)) ** 0.5

    def chance(pairs):
        """The mean of products of independent draws, in its own standard deviations."""
        return float(pairs.mean().abs()) * pairs.numel() ** 0.5 / float(pairs.std())

    assert float(kept.mean().abs()) < 5 * deviation / kept.numel() ** 0.5
    assert chance(kept[1:] * kept[:-1]) < 5
    for shift in (1, 2, 16, 128):
        assert chance(kept[:, shift:] * kept[:, :-shift]) < 5
        assert chance(kept[:, :, shift:] * kept[:, :, :-shift]) < 5
    assert float(kept.mean((0, 1)).abs().max()) < 5 * deviation / (count * 211) ** 0.5
    assert float(kept.mean((0, 2)).abs().max()) < 5 * deviation / (count * 257) ** 0.5


def test_dropout_is_a_function_of_the_seed():
    torch.manual_seed(5)
    one = masks(1, 0.5)
    other = masks(1, 0.5)
    torch.manual_seed(5)
    assert masks(1, 0.5).equal(one)
    assert not other.equal(one)


def side(kind, order, layers=3):
    part = {"width": 6, "heads": 2, "layers": layers, "feedforward": 11, "norm": order}
    part |= {"kind": "transformer", "dropout": 0.0}
    made = build(ModelSettings.model_validate({"encoder": part, "reader": part}), Sizes(7, 7))
    return (made.encoder if kind == "encoder" else made.decoder).to(DEVICE)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_fused_residuals_are_those_of_the_blocks(kind, order, layers):
    form, one = FusedResiduals(large=0, devices=(DEVICE,)), side(kind, order, layers)
    states = torch.randn(2, 5, 6, device=DEVICE, requires_grad=True)
    leaves, results = [states, *one.blocks.parameters()], []
    for forms in ([], [form]):
        sources = [block.cross.remember(states) for block in one.blocks if kind == "decoder"]
        mask = Causal() if kind == "decoder" else None
        assert form.takes(one, states, mask, sources)
        with using(stack=forms):
            given = (mask, sources) if kind == "decoder" else (mask,)
            result = one._read(states, *given)
        results.append([result, *torch.autograd.grad(result.square().sum(), leaves)])
    assert_close(*results, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_operator_is_what_it_says_to_the_compiler(dropout):
    states, change, weight, bias = draw((3, 67), torch.float32)
    seed = torch.tensor([7], device=DEVICE) if dropout else None
    late = torch.randn_like(bias).requires_grad_() if dropout else None
    torch.library.opcheck(norm_op._norm, (states, change, weight, bias, seed, 1e-5, dropout, late))
    torch.library.opcheck(norm_op._norm, (states, None, weight, bias, None, 1e-5, 0.0, None))


def test_only_large_sums_with_something_to_learn_are_fused():
    one, states = side("encoder", "pre"), torch.randn(2, 5, 6, device=DEVICE)
    form = FusedResiduals(large=60, devices=(DEVICE,))
    assert form.takes(one, states, None, ())
    assert not form.takes(one, states[:1], None, ())
    assert not form.takes(one, states.double(), None, ())
    with torch.no_grad():
        assert not form.takes(one, states, None, ())
