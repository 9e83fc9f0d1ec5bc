"""Strides along columns and lines are the strides: for every dot product, with any mask, and back."""

from dataclasses import replace

import pytest
import torch
from torch.nn.attention import flex_attention

from regard.accelerate.attend import Columns, StridedLines
from regard.attention import Causal, Padding, Strided, Window
from regard.seams import using

exact = {"atol": 1e-12, "rtol": 1e-10}
LENGTHS = (1, 2, 7, 17, 19)
STRIDES = (2, 3, 5, 11, 23)
ALWAYS = StridedLines(gain=0)  # also where little is gained


def inputs(length, grad=False):
    shapes = (length, 11), (length, 11), (length, 13)
    return [torch.randn(3, 2, *shape, dtype=torch.float64).requires_grad_(grad) for shape in shapes]


def masks(stride, length):
    pattern = torch.rand(3, 2, length, length, generator=torch.Generator().manual_seed(5)) > 0.4
    ragged = Padding(torch.tensor([length, min(5, length), 0]))
    return [
        Strided(stride),
        Causal() & Strided(stride),
        ragged & Strided(stride),
        Strided(stride) & ragged & Causal(),
        Strided(stride) & pattern,
    ]


@pytest.mark.parametrize("normaliser", ["softmax", "sparsemax", "relu"])
@pytest.mark.parametrize("score", ["dot", "scaled-dot", "general", "cosine", "location"])
def test_columns_and_lines_are_the_whole(score, normaliser, make_attention):
    attention = make_attention(score, normaliser).double().requires_grad_(False)
    for length in LENGTHS:
        query, key, value = inputs(length)
        for stride in STRIDES:
            for mask in masks(stride, length):
                memory = attention.remember(key, value, mask)
                assert ALWAYS.takes(attention, query, memory, mask)
                with using(attend=[ALWAYS]):
                    found = attention(query, memory)
                torch.testing.assert_close(found, attention.align(query, memory).context, **exact)


def test_some_lines_at_a_time_are_all_of_them(make_attention):
    attention, (query, key, value) = make_attention("scaled-dot").double(), inputs(19)
    for mask in masks(3, 19):
        memory = attention.remember(key, value, mask)
        for at_once in (1, 400, 1 << 20):
            form = StridedLines(at_once=at_once)
            found = form.attend(attention, query, memory, mask)
            torch.testing.assert_close(found, attention.align(query, memory).context, **exact)


@pytest.mark.parametrize("stride", [3, 5])
def test_they_have_the_same_gradients(stride, make_attention):
    attention = make_attention("general").double()
    leaves = [*inputs(17, grad=True), *attention.parameters()]
    query, key, value = leaves[:3]
    for mask in masks(stride, 17):
        memory = attention.remember(key, value, mask)
        by_hand = attention.align(query, memory).context
        expected = torch.autograd.grad(by_hand.square().sum(), leaves, retain_graph=True)
        found = ALWAYS.attend(attention, query, memory, mask)
        for gradient, other in zip(
            torch.autograd.grad(found.square().sum(), leaves), expected, strict=True
        ):
            torch.testing.assert_close(gradient, other, **exact)


def test_it_takes_a_text_that_reads_itself_in_strides(make_attention):
    attention, (query, key, value) = make_attention("dot").double(), inputs(17)
    memory = attention.remember(key, value, Strided(3))
    assert ALWAYS.takes(attention, query, memory, Strided(3))
    assert not ALWAYS.takes(attention, query, memory, Causal())
    assert not ALWAYS.takes(attention, query[:, :, 1:], memory, Strided(3))
    assert not ALWAYS.takes(attention, query, replace(memory, first=1), Strided(3))
    additive, chance = make_attention("additive").double(), make_attention("dot", "gumbel").train()
    for other in (additive, chance):
        assert not ALWAYS.takes(other, query, memory, Strided(3))


def test_few_pairs_are_worth_being_sorted_out(make_attention):
    attention = make_attention("dot")
    for length, stride, pays in (
        (1024, 32, True),
        (1024, 2, False),
        (1024, 512, False),
        (64, 8, False),
    ):
        query = torch.zeros(1, 2, length, 11)
        memory = attention.remember(query, query, Strided(stride))
        assert StridedLines(gain=4).takes(attention, query, memory, Strided(stride)) == pays


@pytest.fixture
def _plain_flex(monkeypatch):
    """FlexAttention as the formula it is."""
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


@pytest.mark.usefixtures("_plain_flex")
@pytest.mark.parametrize("score", ["dot", "scaled-dot", "general", "cosine", "location"])
def test_a_window_and_columns_are_the_whole(score, make_attention):
    attention = make_attention(score).double().requires_grad_(False)
    for length in (1, 2, 6, 15, 17):
        query, key, value = inputs(length)
        for stride in STRIDES:
            for mask in (Causal() & Strided(stride), Strided(stride) & Causal(), Strided(stride)):
                memory = attention.remember(key, value, mask)
                if Columns(least=0).fits(query, memory, mask):
                    found = Columns().attend(attention, query, memory, mask)
                    expected = attention.align(query, memory).context
                    torch.testing.assert_close(found, expected, **exact)
                else:
                    assert mask == Strided(stride)
                    assert length % stride


def test_columns_are_for_strides_alone(make_attention):
    attention, (query, key, value) = make_attention("dot").double(), inputs(17)
    memory, mask = attention.remember(key, value), Causal() & Strided(3)
    assert not Columns().fits(query, memory, mask), "17 positions are few"
    columns = Columns(least=17)
    assert columns.fits(query, memory, mask)
    assert columns.fits(query, memory, Strided(17))
    ragged = Padding(torch.tensor([17, 5, 0]))
    for other in (
        None,
        Causal(),
        Strided(3),
        mask & ragged,
        mask & Window(9, 0),
        mask & Strided(2),
    ):
        assert not columns.fits(query, memory, other)
    assert not columns.fits(query[:, :, 1:], memory, mask)
    assert not columns.fits(query, replace(memory, first=1), mask)
