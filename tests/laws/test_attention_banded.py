"""A window in parts is the window: for every score, with any mask, with a cache, and on the backward pass."""

from dataclasses import replace

import pytest
import torch

from regard.accelerate import attend
from regard.accelerate.attend import Banded
from regard.attention import Causal, Padding, Window
from regard.seams import using

exact = {"atol": 1e-12, "rtol": 1e-10}
LENGTH = 19


SMALL = Banded(least=3, gain=1)  # parts of three queries or more, also where little is gained
FORMS = [SMALL, *(form for form in attend.FORMS if not isinstance(form, Banded))]


@pytest.fixture
def inputs():
    def draw(queries=LENGTH, grad=False):
        shapes = (queries, 11), (LENGTH, 11), (LENGTH, 13)
        return [
            torch.randn(3, 2, *shape, dtype=torch.float64).requires_grad_(grad) for shape in shapes
        ]

    return draw


def windows():
    pattern = torch.rand(3, 2, LENGTH, LENGTH, generator=torch.Generator().manual_seed(5)) > 0.4
    ragged = Padding(torch.tensor([LENGTH, 5, 0]))
    return [
        Window(2, 3),
        Window(0, 0),
        Window(7, 0) & Causal(),
        ragged & Window(1, 4),
        ragged & Causal() & Window(5, 5),
        Window(4, 1) & pattern,
    ]


@pytest.mark.parametrize("normaliser", ["softmax", "sparsemax", "relu", "sigmoid"])
def test_parts_are_the_whole(score_name, normaliser, make_attention, inputs):
    attention = make_attention(score_name, normaliser).double().requires_grad_(False)
    query, key, value = inputs()
    for mask in windows():
        memory = attention.remember(key, value, mask)
        assert SMALL.takes(attention, query, memory, mask)
        with using(attend=FORMS):
            found = attention(query, memory)
        torch.testing.assert_close(found, attention.align(query, memory).context, **exact)


@pytest.mark.parametrize("first", [0, 5, 13, 18])
def test_parts_of_a_cache_are_the_whole(first, make_attention, inputs):
    attention = make_attention("scaled-dot").double()
    query, key, value = inputs(queries=LENGTH - first)
    for mask in windows():
        memory = replace(attention.remember(key, value, mask), first=first)
        with using(attend=FORMS):
            found = attention(query, memory)
        torch.testing.assert_close(found, attention.align(query, memory).context, **exact)


@pytest.mark.parametrize("score", ["general", "additive"])
def test_parts_have_the_same_gradients(score, make_attention, inputs):
    attention = make_attention(score).double()
    leaves = [*inputs(grad=True), *attention.parameters()]
    query, key, value = leaves[:3]
    for mask in windows():
        memory = attention.remember(key, value, mask)
        by_hand = attention.align(query, memory).context
        expected = torch.autograd.grad(by_hand.square().sum(), leaves, retain_graph=True)
        with using(attend=FORMS):
            found = attention(query, memory)
        for gradient, other in zip(
            torch.autograd.grad(found.square().sum(), leaves), expected, strict=True
        ):
            torch.testing.assert_close(gradient, other, **exact)


def test_queries_past_the_last_key_see_nothing(make_attention, inputs):
    attention = make_attention("scaled-dot").double()
    query, key, value = inputs(queries=5)
    memory = replace(attention.remember(key, value, Window(2, 2)), first=LENGTH + 3)
    with using(attend=FORMS):
        assert torch.equal(attention(query, memory), torch.zeros(3, 2, 5, 13).double())


def test_keys_out_of_reach_are_never_read(make_attention, inputs):
    """Of 19 keys the last query reaches four: the others may hold anything."""
    attention = make_attention("scaled-dot").double()
    query, key, value = inputs(queries=1)
    mask = Causal() & Window(3, 0)
    memory = replace(attention.remember(key, value, mask), first=LENGTH - 1)
    (part, reached), *rest = Banded()._parts(query, memory, mask)
    assert (part.shape[2], reached.key.shape[2], rest) == (1, 4, [])
    assert Banded().takes(attention, query, memory, mask)


def test_a_mask_without_a_window_is_not_cut(square_masks, make_attention, inputs):
    attention, (query, key, value) = make_attention("dot").double(), inputs()
    for name in ("causal", "strided", "global-window", "causal&strided"):
        mask = square_masks[name]
        assert not Banded().takes(attention, query, attention.remember(key, value, mask), mask)
    chance, mask = make_attention("dot", "gumbel"), Causal() & Window(3, 0)
    memory = replace(attention.remember(key, value, mask), first=LENGTH - 1)
    assert Banded().takes(chance, query[:, :, :1], memory, mask)
    assert not Banded().takes(chance.train(), query[:, :, :1], memory, mask)


def test_every_span_holds_all_that_may_be_seen(square_masks, sizes):
    known = [(mask, sizes.keys) for mask in square_masks.values() if mask is not None]
    for mask, length in [*known, *((mask, LENGTH) for mask in windows())]:
        allowed = mask.to_bool(length, length, batch=3, heads=2).flatten(0, 1).any(0)
        for first in range(length):
            for last in range(first + 1, length + 1):
                begin, end = mask.span(first, last)
                seen = allowed[first:last].any(0).nonzero().flatten().tolist()
                assert all(begin <= key < end for key in seen)
