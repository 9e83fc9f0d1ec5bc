"""A block of queries at a time gives what all at once give: contexts, gradients, under every mask."""

from dataclasses import replace

import pytest
import torch

from regard.accelerate.attend import Blocked
from regard.attention import Additive, Alibi, Attention, Softmax, formula, make_normaliser
from regard.seams import using
from tests.accelerate.spied import spied

exact = {"atol": 1e-12, "rtol": 1e-10}


@pytest.fixture(params=[1, 3 * 2 * 7 * 3, 2 * 3 * 2 * 7 * 3, 1 << 20], ids="{} at once".format)
def blocked(request):
    """Blocks of one query twice, of two, and of all."""
    return Blocked(at_once=request.param)


@pytest.mark.parametrize("bias", [False, True], ids=["plain", "alibi"])
def test_blocked_is_the_formula(blocked, bias, masks, make_attention, random_inputs, sizes):
    added = Alibi(sizes.heads) if bias else None
    attention = make_attention("additive", "softmax", bias=added).double()
    inputs = random_inputs(dtype=torch.float64, grad=True)
    query, key, value = inputs
    leaves = [*inputs, *attention.parameters()]
    for mask in masks.values():
        memory = attention.remember(key, value, mask)
        found, expected = (
            work(attention, query, memory, mask) for work in (blocked.attend, formula.context)
        )
        torch.testing.assert_close(found, expected, **exact)
        both = (
            torch.autograd.grad(context.square().sum(), leaves, retain_graph=True)
            for context in (found, expected)
        )
        for one, other in zip(*both, strict=True):
            assert one.isfinite().all()
            torch.testing.assert_close(one, other, **exact)


def test_blocked_reads_a_cache_from_its_position(
    blocked, square_masks, make_attention, random_inputs
):
    attention = make_attention("additive", "softmax").double()
    query, key, value = random_inputs(queries=3, dtype=torch.float64)
    for mask in square_masks.values():
        memory = replace(attention.remember(key, value, mask), first=4)
        works = blocked.attend, formula.context
        both = (work(attention, query, memory, mask) for work in works)
        torch.testing.assert_close(*both, **exact)


def test_blocked_takes_every_normaliser(blocked, normaliser_name, make_attention, random_inputs):
    attention = make_attention("additive", normaliser_name).double()
    query, key, value = random_inputs(dtype=torch.float64)
    memory = attention.remember(key, value)
    both = (work(attention, query, memory, None) for work in (blocked.attend, formula.context))
    torch.testing.assert_close(*both, **exact)


def test_the_gradients_are_those_of_small_differences(blocked, make_attention, random_inputs):
    attention = make_attention("additive", "softmax").double()
    inputs = [states[:1, :, :3, :5] for states in random_inputs(dtype=torch.float64)]
    attention.score = Additive(5, 5, 3, 2).double()
    leaves = [states.detach().requires_grad_() for states in inputs]

    def read(query, key, value):
        return blocked.attend(attention, query, attention.remember(key, value), None)

    assert torch.autograd.gradcheck(read, leaves)


def test_what_is_kept_for_the_backward_pass_grows_as_the_length():
    """Twice the length keeps twice as much, not four times: no block leaves its triples behind."""
    blocked = Blocked(at_once=1 << 12)

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


def test_many_triples_are_blocked_and_few_are_not():
    taken = []

    def asked(attention, length, keys=None):
        states, keys = torch.randn(1, 1, length, 2), torch.randn(1, 1, keys or length, 2)
        with using(attend=spied([Blocked()], taken, idle=True)):
            attention(states, attention.remember(keys, keys))
        return taken.pop() if taken else "formula"

    for normaliser in ("softmax", "sparsemax"):
        attention = Attention(Additive(2, 2, 64), make_normaliser(normaliser))
        assert asked(attention, 16) == "formula"
        assert asked(attention, 1024) == "Blocked"
    assert asked(attention, 1, 1 << 19) == "formula"
    assert asked(attention, 256) == "formula"
    with torch.no_grad():  # without a backward pass, blocks pay sooner
        assert asked(attention, 256) == "Blocked"
