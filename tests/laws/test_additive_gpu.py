"""The additive score on a GPU keeps to the formula in float64, gradients included, for every mask it takes.

Without a GPU the same programs run by Triton's interpreter, where it is installed: TRITON_INTERPRET=1.
"""

import os
from dataclasses import replace
from importlib.util import find_spec

import pytest
import torch

from regard.accelerate.attend import AdditiveKernel
from regard.attention import Additive, Attention, Causal, Padding, Softmax, Window, formula, watch
from regard.seams import using
from tests.accelerate.spied import spied

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1" and find_spec("triton") is not None

pytestmark = [
    pytest.mark.slow,
    pytest.mark.gpu,
    pytest.mark.skipif(DEVICE == "cpu" and not INTERPRETED, reason="needs a GPU"),
]

BATCH, HEADS = 3, 2
SIZES = {"short": (13, 17), "long": (211, 223)} if DEVICE == "cuda" else {"short": (37, 71)}
CLOSE = {torch.float32: 2e-5, torch.float16: 6e-3, torch.bfloat16: 5e-2}
NAMES = ["none", "causal", "window", "padding", "padding&causal", "padding&window", "causal&window"]


def make_mask(name, keys):
    """One row of the batch sees everything, one a part, one nothing."""
    padding = Padding(torch.tensor([keys, keys // 2, 0], device=DEVICE))
    parts = {"causal": Causal(), "window": Window(5, 3), "padding": padding}
    mask = None
    for part in name.split("&") if name != "none" else ():
        mask = parts[part] & mask
    return mask


def twins(neurons, dtype, heads=HEADS):
    """The same attention, in float64 and in this precision."""
    exact = Attention(Additive(7, 11, neurons, heads), Softmax()).double().to(DEVICE)
    rough = Attention(Additive(7, 11, neurons, heads), Softmax()).to(DEVICE, dtype)
    rough.load_state_dict(exact.state_dict())
    exact.load_state_dict(rough.state_dict())
    return exact, rough


def draw(queries, keys, dtype, values=13, scale=1.0):
    shapes = (queries, 7), (keys, 11), (keys, values)
    query, key, value = (torch.randn(BATCH, HEADS, *shape, device=DEVICE) for shape in shapes)
    return [states.to(dtype) for states in (query * scale, key * scale, value)]


def worked_out(work, attention, inputs, mask, first=0):
    """The context, then the gradients of all inputs and weights."""
    dtype = attention.score.value_weight.dtype
    leaves = [states.detach().to(dtype).requires_grad_() for states in inputs]
    query, key, value = leaves
    memory = replace(attention.remember(key, value, mask), first=first)
    context = work(attention, query, memory, mask)
    asked = torch.linspace(-1, 1, context.numel(), device=DEVICE).view(context.shape).to(dtype)
    leaves += attention.parameters()
    return [context.detach(), *torch.autograd.grad(context, leaves, asked)]


def agree(attentions, inputs, mask, first=0, **options):
    exact, rough = attentions
    expected = worked_out(formula.context, exact, inputs, mask, first)
    found = worked_out(AdditiveKernel(**options).attend, rough, inputs, mask, first)
    plain = worked_out(formula.context, rough, inputs, mask, first)
    close = CLOSE[rough.score.value_weight.dtype]
    # The exponentials that a tanh is made of are right to 21 bits, a score is a sum of so many |v|, and a
    # weight is wrong by what its score is and all others are.
    scored = exact.score.value_weight.abs().sum(-1).max().item() * 2.0**-19
    for one, usual, other in zip(found, plain, expected, strict=True):
        assert one.isfinite().all()
        size = max(1.0, other.abs().max().item())
        # Scores that are far apart magnify any rounding, the formula's own too.
        away = max(max(close, scored) * size, 4 * _distance(usual, other))
        torch.testing.assert_close(one.double(), other, atol=away, rtol=0)
    return found


def _distance(one, other):
    return (one.double() - other).abs().max().nan_to_num(0.0).item()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", CLOSE, ids=str)
def test_the_programs_keep_to_the_formula(dtype, size, name):
    if dtype == torch.bfloat16 and DEVICE == "cpu":
        pytest.skip("Triton's interpreter multiplies bfloat16 as integers")
    torch.manual_seed(7)
    queries, keys = SIZES[size]
    mask = make_mask(name, keys)
    context, *gradients = agree(twins(5, dtype), draw(queries, keys, dtype), mask)
    if "padding" in name:
        assert (context[2] == 0).all()
        assert all((gradient[2] == 0).all() for gradient in gradients[:3])


@pytest.mark.parametrize("name", ["none", "padding", "causal&window"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_many_keys_are_taken_in_larger_blocks(dtype, name):
    torch.manual_seed(7)
    agree(twins(5, dtype), draw(19, 601, dtype), make_mask(name, 601), first=500)


@pytest.mark.parametrize("neurons", [1, 2, 3, 64, 67, 131])
def test_any_number_of_neurons(neurons):
    torch.manual_seed(7)
    agree(twins(neurons, torch.float32), draw(29, 31, torch.float32), Causal())


@pytest.mark.parametrize("values", [1, 16, 17, 67])
def test_any_width_of_values(values):
    torch.manual_seed(7)
    agree(twins(5, torch.float32), draw(29, 31, torch.float32, values), Window(9, 2))


@pytest.mark.parametrize("scale", [0.0, 1e-3, 10.0, 100.0])
def test_far_from_zero_tanh_is_flat_and_near_zero_it_is_a_line(scale):
    torch.manual_seed(7)
    agree(twins(5, torch.float32), draw(29, 31, torch.float32, scale=scale), None)


def test_one_weight_may_serve_all_heads():
    torch.manual_seed(7)
    agree(twins(5, torch.float32, heads=1), draw(29, 31, torch.float32), None)


@pytest.mark.parametrize("name", NAMES)
def test_a_cache_is_read_from_its_position(name):
    torch.manual_seed(7)
    mask = make_mask(name, 71)
    agree(twins(5, torch.float32), draw(13, 71, torch.float32), mask, first=40)


@pytest.mark.parametrize("name", NAMES)
def test_chunks_change_nothing(name):
    torch.manual_seed(7)
    mask = make_mask(name, 71)
    agree(twins(5, torch.float32), draw(97, 71, torch.float32), mask, scratch=1)


def test_states_may_lie_in_any_order():
    torch.manual_seed(7)
    inputs = draw(29, 31, torch.float32)
    turned = [states.transpose(1, 2).contiguous().transpose(1, 2) for states in inputs]
    attentions = twins(5, torch.float32)
    for one, other in zip(
        agree(attentions, inputs, None), agree(attentions, turned, None), strict=True
    ):
        assert torch.equal(one, other)


def test_the_same_twice_is_the_same_to_the_last_bit():
    torch.manual_seed(7)
    _, rough = twins(5, torch.float32)
    inputs = draw(67, 71, torch.float32)
    both = [worked_out(AdditiveKernel().attend, rough, inputs, Causal()) for _ in range(2)]
    for one, other in zip(*both, strict=True):
        assert torch.equal(one, other)


needs_gpu = pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU")


@needs_gpu
def test_a_gpu_takes_it_unless_somebody_looks():
    _, rough = twins(64, torch.bfloat16)
    taken = []
    query, key, value = draw(211, 223, torch.bfloat16)
    memory = rough.remember(key, value, Causal())
    with using(attend=spied([AdditiveKernel()], taken)):
        unwatched = rough(query, memory)
    assert taken
    with watch(rough) as seen:
        rough(query, memory)
    torch.testing.assert_close(seen.weights("") @ value, unwatched, atol=5e-2, rtol=0)


@needs_gpu
def test_memory_grows_as_the_length():
    def most(length):
        _, rough = twins(64, torch.float32)
        inputs = draw(length, length, torch.float32)
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        with torch.no_grad():
            query, key, value = inputs
            rough(query, rough.remember(key, value, Causal()))
        return torch.cuda.max_memory_allocated() - before

    assert most(4096) < 2.5 * most(2048)


@needs_gpu
def test_a_compiler_takes_it_whole():
    torch.manual_seed(7)
    _, rough = twins(64, torch.float32)
    inputs = [states.requires_grad_() for states in draw(211, 223, torch.float32)]

    def read(query, key, value):
        return rough(query, rough.remember(key, value, Causal()))

    found = torch.compile(read, fullgraph=True)(*inputs), read(*inputs)
    torch.testing.assert_close(*found, atol=1e-4, rtol=1e-4)
    gradients = [torch.autograd.grad(one.square().sum(), inputs) for one in found]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(("dtype", "times"), [(torch.float32, 64), (torch.float16, 8)], ids=str)
@pytest.mark.parametrize("name", ["none", "padding&causal"])
def test_where_v_is_large_the_maximum_is_looked_for(dtype, times, name):
    """Scores so far apart that powers below the bound would vanish in this precision."""
    torch.manual_seed(7)
    attentions = twins(5, dtype)
    for attention in attentions:
        attention.score.value_weight.data.mul_(times)
    agree(attentions, draw(29, 31, dtype), make_mask(name, 31))
