"""One formula, four kernels: every way to work out an attention gives the same context."""

from dataclasses import replace

import pytest
import torch
from torch.nn.attention import flex_attention

from regard.accelerate.attend import Flex, Fused, linear
from regard.attention import (
    Alibi,
    Causal,
    FeatureMap,
    Given,
    GlobalWindow,
    Padding,
    Proportional,
    Strided,
    Window,
    formula,
    make_score,
)
from regard.attention.attention import Attention
from regard.attention.score import DotScore

DOT_SCORES = [
    "dot",
    "scaled-dot",
    "general",
    "cosine",
    "location",
    "feature-map",
]
exact = {"atol": 1e-12, "rtol": 1e-10}
WORKS = [formula.context, Fused().attend, Flex().attend]


@pytest.fixture
def _plain_flex(monkeypatch):
    """FlexAttention as the formula it is, with PyTorch's own switch: nothing is traced, nothing warns."""
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


def test_the_dot_scores_are_all_but_additive(score_name):
    score = make_score(score_name, query_width=3, key_width=3)
    assert isinstance(score, DotScore) == (score_name in DOT_SCORES) == (score_name != "additive")


@pytest.mark.usefixtures("_plain_flex")
@pytest.mark.parametrize("bias", [False, True], ids=["plain", "alibi"])
@pytest.mark.parametrize("score", DOT_SCORES)
def test_the_formula_is_fused_is_flex(score, bias, masks, make_attention, random_inputs, sizes):
    added = Alibi(sizes.heads) if bias else None
    attention = make_attention(score, "softmax", bias=added).double().requires_grad_(False)
    query, key, value = random_inputs(dtype=torch.float64)
    for mask in masks.values():
        memory = attention.remember(key, value, mask)
        by_hand = attention.align(query, memory).context

        for work in WORKS:
            found = work(attention, query, memory, mask)
            torch.testing.assert_close(found, by_hand, **exact)


@pytest.mark.usefixtures("_plain_flex")
@pytest.mark.parametrize("bias", [False, True], ids=["plain", "alibi"])
def test_kernels_agree_on_a_cache(bias, square_masks, make_attention, random_inputs, sizes):
    added = Alibi(sizes.heads) if bias else None
    attention = make_attention("scaled-dot", "softmax", bias=added).double()
    query, key, value = random_inputs(queries=2, dtype=torch.float64)
    for mask in square_masks.values():
        memory = replace(attention.remember(key, value, mask), first=3)
        by_hand = attention.align(query, memory).context

        for work in WORKS:
            found = work(attention, query, memory, mask)
            torch.testing.assert_close(found, by_hand, **exact)


@pytest.mark.parametrize("bias", [False, True], ids=["plain", "alibi"])
@pytest.mark.parametrize("work", WORKS[:2], ids=["formula", "fused"])
def test_kernels_have_the_same_gradients(work, bias, masks, make_attention, random_inputs, sizes):
    """FlexAttention has no backward pass on a CPU; the GPU test covers it."""
    added = Alibi(sizes.heads) if bias else None
    attention = make_attention("general", "softmax", bias=added).double()
    inputs = random_inputs(dtype=torch.float64, grad=True)
    query, key, value = inputs
    leaves = [*inputs, *attention.parameters()]
    for mask in masks.values():
        memory = attention.remember(key, value, mask)
        by_hand = attention.align(query, memory).context
        expected = torch.autograd.grad(by_hand.square().sum(), leaves, retain_graph=True)

        found = work(attention, query, memory, mask)
        gradients = torch.autograd.grad(found.square().sum(), leaves)

        for gradient, other in zip(gradients, expected, strict=True):
            torch.testing.assert_close(gradient, other, **exact)


@pytest.mark.usefixtures("_plain_flex")
@pytest.mark.parametrize("bias", [False, True], ids=["plain", "alibi"])
@pytest.mark.parametrize("work", WORKS, ids=["formula", "fused", "flex"])
def test_a_batch_that_sees_nothing_reads_zero(work, bias, make_attention, random_inputs, sizes):
    added = Alibi(sizes.heads) if bias else None
    attention = make_attention("scaled-dot", "softmax", bias=added)
    differentiable = work is not WORKS[2]
    query, key, value = random_inputs(grad=differentiable)
    nothing = Given(torch.zeros(1, 1, 1, 1, dtype=torch.bool))
    for mask in (nothing, Padding(torch.tensor([0, 0, 0])), Window(0, 0) & ~torch.eye(5, 7).bool()):
        context = work(attention, query, attention.remember(key, value, mask), mask)

        assert torch.equal(context, torch.zeros_like(context))
        if differentiable:
            for gradient in torch.autograd.grad(context.sum(), (query, key, value)):
                assert torch.equal(gradient, torch.zeros_like(gradient))


@pytest.mark.parametrize(
    "wide",
    [Window(6, 6), Window(7, 100), GlobalWindow(6), GlobalWindow(0, globals=7), Strided(1)],
    ids=str,
)
def test_a_window_as_long_as_the_text_is_no_window(
    wide, score_name, normaliser_name, make_attention, random_inputs, sizes
):
    attention = make_attention(score_name, normaliser_name)
    query, key, value = random_inputs(queries=sizes.keys)
    full = attention(query, attention.remember(key, value))

    windowed = attention(query, attention.remember(key, value, wide))

    torch.testing.assert_close(windowed, full, atol=1e-6, rtol=1e-6)


LENGTHS = [1, 2, linear.CHUNK - 1, linear.CHUNK, linear.CHUNK + 1, 2 * linear.CHUNK + 3]


def linear_inputs(queries, keys):
    shapes = (queries, 3), (keys, 3), (keys, 5)
    return tuple(torch.randn(2, 1, *shape, dtype=torch.float64) for shape in shapes)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
def test_linear_attention_is_the_formula_is_recurrent(length, padded):
    attention = Attention(FeatureMap(), Proportional())
    query, key, value = linear_inputs(length, length)
    lengths = torch.tensor([length, length // 2])
    padding = Padding(lengths) if padded else None
    for mask in (padding, Causal() & padding):
        memory = attention.remember(key, value, mask)
        by_hand = attention.align(query, memory).context

        torch.testing.assert_close(
            linear.Linear().attend(attention, query, memory, mask), by_hand, **exact
        )
        torch.testing.assert_close(attention(query, memory), by_hand, **exact)
    torch.testing.assert_close(stepped(attention, query, memory, lengths, padded), by_hand, **exact)


def stepped(attention, query, memory, lengths, padded):
    """The causal form as a recurrence: add a key and its value to the state, then read."""
    feature, key = attention.score.adapt(query), memory.key
    if padded:
        key = key * (torch.arange(key.shape[2]) < lengths[:, None])[:, None, :, None]
    state, contexts = linear.LinearState.of(key[:, :, :0], memory.value[:, :, :0]), []
    for t in range(key.shape[2]):
        now = slice(t, t + 1)
        state = state + linear.LinearState.of(key[:, :, now], memory.value[:, :, now])
        contexts.append(state.read(feature[:, :, now]))
    return torch.cat(contexts, 2)


@pytest.mark.parametrize(("queries", "keys"), [(3, 70), (70, 3), (67, 131)])
def test_linear_attention_takes_any_number_of_queries(queries, keys):
    attention = Attention(FeatureMap(), Proportional())
    query, key, value = linear_inputs(queries, keys)
    for mask in (None, Causal(), Causal() & Padding(torch.tensor([keys, 2]))):
        memory = attention.remember(key, value, mask)
        by_hand = attention.align(query, memory).context
        torch.testing.assert_close(attention(query, memory), by_hand, **exact)


@pytest.mark.parametrize("mask", [None, Causal()], ids=["whole", "causal"])
def test_linear_attention_that_sees_nothing_reads_zero(mask):
    attention = Attention(FeatureMap(), Proportional())
    inputs = [states.requires_grad_() for states in linear_inputs(7, 7)]
    nothing = Padding(torch.tensor([0, 0])) & mask

    context = attention(inputs[0], attention.remember(*inputs[1:], nothing))

    assert torch.equal(context, torch.zeros_like(context))
    for gradient in torch.autograd.grad(context.sum(), inputs):
        assert torch.equal(gradient, torch.zeros_like(gradient))
