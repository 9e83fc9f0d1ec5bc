"""A block of queries at a time gives what all at once give: contexts, gradients, under every mask."""

from dataclasses import replace

import pytest
import torch

from regard.accelerate import attend as kernels
from regard.accelerate.attend import blocked
from regard.attention import Additive, Alibi, Attention, Softmax, explicit, make_normaliser

exact = {"atol": 1e-12, "rtol": 1e-10}


@pytest.fixture(params=[1, 3 * 2 * 7 * 3, 2 * 3 * 2 * 7 * 3, 1 << 20], ids="{} at once".format)
def _at_once(request, monkeypatch):
    """Blocks of one query twice, of two, and of all."""
    monkeypatch.setattr(blocked, "AT_ONCE", request.param)


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("bias", [False, True], ids=["plain", "alibi"])
def test_blocked_is_explicit(bias, masks, make_attention, random_inputs, sizes):
    added = Alibi(sizes.heads) if bias else None
    attention = make_attention("additive", "softmax", bias=added).double()
    inputs = random_inputs(dtype=torch.float64, grad=True)
    query, key, value = inputs
    leaves = [*inputs, *attention.parameters()]
    for mask in masks.values():
        memory = attention.remember(key, value, mask)
        found, expected = (
            kernel.attend(attention, query, memory, mask) for kernel in (blocked, explicit)
        )
        torch.testing.assert_close(found, expected, **exact)
        both = (
            torch.autograd.grad(context.square().sum(), leaves, retain_graph=True)
            for context in (found, expected)
        )
        for one, other in zip(*both, strict=True):
            assert one.isfinite().all()
            torch.testing.assert_close(one, other, **exact)


@pytest.mark.usefixtures("_at_once")
def test_blocked_reads_a_cache_from_its_position(square_masks, make_attention, random_inputs):
    attention = make_attention("additive", "softmax").double()
    query, key, value = random_inputs(queries=3, dtype=torch.float64)
    for mask in square_masks.values():
        memory = replace(attention.remember(key, value, mask), first=4)
        both = (kernel.attend(attention, query, memory, mask) for kernel in (blocked, explicit))
        torch.testing.assert_close(*both, **exact)


@pytest.mark.usefixtures("_at_once")
def test_blocked_takes_every_normaliser(normaliser_name, make_attention, random_inputs):
    attention = make_attention("additive", normaliser_name).double()
    query, key, value = random_inputs(dtype=torch.float64)
    memory = attention.remember(key, value)
    both = (kernel.attend(attention, query, memory, None) for kernel in (blocked, explicit))
    torch.testing.assert_close(*both, **exact)


@pytest.mark.usefixtures("_at_once")
def test_the_gradients_are_those_of_small_differences(make_attention, random_inputs):
    attention = make_attention("additive", "softmax").double()
    inputs = [states[:1, :, :3, :5] for states in random_inputs(dtype=torch.float64)]
    attention.score = Additive(5, 5, 3, 2).double()
    leaves = [states.detach().requires_grad_() for states in inputs]

    def read(query, key, value):
        return blocked.attend(attention, query, attention.remember(key, value), None)

    assert torch.autograd.gradcheck(read, leaves)


def test_what_is_kept_for_the_way_back_grows_as_the_length(monkeypatch):
    """Twice the length keeps twice as much, not four times: no block leaves its triples behind."""
    monkeypatch.setattr(blocked, "AT_ONCE", 1 << 12)

    def kept(length):
        attention = Attention(Additive(2, 2, 3), Softmax())
        query, key, value = torch.randn(3, 1, 1, length, 2, requires_grad=True)
        sizes = []

        def keep(tensor):
            sizes.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            blocked.attend(attention, query, attention.remember(key, value), None)
        return max(sizes)

    assert kept(256) <= 2 * kept(128)


def test_many_triples_are_blocked_and_few_are_not(monkeypatch):
    taken = []
    for name in ("blocked", "explicit"):
        kernel = getattr(kernels, name)

        def attend(attention, query, memory, mask, name=name):
            taken.append(name)
            return query

        monkeypatch.setattr(kernel, "attend", attend)
    for normaliser in ("softmax", "sparsemax"):
        attention = Attention(Additive(2, 2, 64), make_normaliser(normaliser))
        for length in (16, 1024):
            states = torch.randn(1, 1, length, 2)
            attention(states, attention.remember(states, states))
    one = torch.randn(1, 1, 1, 2)
    attention(one, attention.remember(*torch.randn(2, 1, 1, 1 << 19, 2)))
    assert taken == ["explicit", "blocked"] * 2 + ["explicit"]
    states = torch.randn(1, 1, 256, 2)
    for grad in (True, False):  # without a way back, blocks pay sooner
        with torch.set_grad_enabled(grad):
            attention(states, attention.remember(states, states))
    assert taken[5:] == ["explicit", "blocked"]
