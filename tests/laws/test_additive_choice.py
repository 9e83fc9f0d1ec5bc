"""What the additive score's GPU programs are given, and what a mask is to them; no GPU is needed to ask."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from regard.accelerate.attend import AdditiveKernel, Blocked
from regard.accelerate.attend.additive import ENDLESS, Band
from regard.attention import (
    Additive,
    Alibi,
    Attention,
    Causal,
    Given,
    GlobalWindow,
    Hard,
    Memory,
    Padding,
    Softmax,
    Window,
    formula,
)
from regard.seams import using
from tests.accelerate.spied import Anything, spied

QUERIES, KEYS, NEURONS = 211, 223, 64


@pytest.fixture
def chosen():
    """The names of the forms that worked, with tensors of a GPU that need not be there."""
    names = []
    forms = [AdditiveKernel(installed=True), Blocked(), Anything()]
    with FakeTensorMode(), using(attend=spied(forms, names, idle=True)):
        yield names


def ask(
    mask=None,
    queries=QUERIES,
    dtype=torch.bfloat16,
    device="cuda",
    values=13,
    training=True,
    **parts,
):
    attention = Attention(Additive(7, 11, NEURONS, 2), parts.pop("normaliser", Softmax()), **parts)
    query, key, value = (
        torch.empty(3, 2, *shape, device=device, dtype=dtype)
        for shape in ((queries, 7), (KEYS, NEURONS), (KEYS, values))
    )
    return formula.attend(attention.train(training), query, Memory(key, value, mask))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("mask", [None, Causal(), Window(5, 3), Causal() & Window(9, 2)], ids=str)
def test_a_gpu_works_out_masks_that_are_bands(chosen, mask, dtype):
    ask(mask, dtype=dtype)
    assert chosen == ["AdditiveKernel"]


@pytest.mark.parametrize(
    "refused",
    [
        {"device": "cpu"},
        {"dtype": torch.float64},
        {"queries": 1},
        {"values": 257},
        {"mask": GlobalWindow(3, 2)},
        {"dropout": 0.1},
        {"bias": Alibi(2)},
        {"normaliser": Hard()},
    ],
    ids=str,
)
def test_what_the_programs_cannot_goes_elsewhere(chosen, refused):
    ask(**refused)
    assert chosen in (["Blocked"], ["Anything"])


def test_dropout_matters_in_training_alone(chosen):
    ask(dropout=0.1, training=False)
    assert chosen == ["AdditiveKernel"]


def test_without_triton_nothing_is_given_to_it(chosen):
    with using(
        attend=spied([AdditiveKernel(installed=False), Blocked(), Anything()], chosen, idle=True)
    ):
        ask()
    assert chosen in (["Blocked"], ["Anything"])


@pytest.mark.parametrize(("device", "kernel"), [("cpu", ["Blocked"]), ("cuda", ["Anything"])])
def test_a_gpu_forms_at_once_what_a_processor_takes_in_blocks(chosen, device, kernel):
    ask(mask=GlobalWindow(3, 2), device=device)
    assert chosen == kernel


def test_few_triples_are_not_worth_a_program(chosen):
    ask(queries=2)
    assert chosen == ["Anything"]


def test_a_mask_is_a_band_or_none():
    lengths = torch.tensor([5, 3])
    assert vars(Band.of(None)) == {"before": ENDLESS, "after": ENDLESS, "lengths": None}
    band = Band.of(Padding(lengths) & Causal() & Window(5, 3))
    assert (band.before, band.after) == (5, 0)
    assert band.lengths is lengths
    assert Band.of(Causal() & GlobalWindow(3, 2)) is None
    assert Band.of(Padding(lengths) & Padding(lengths + 1)) is None
    assert Band.of(Given(torch.ones(1, 1, 2, 2, dtype=torch.bool))) is None


def test_two_windows_are_the_narrower_of_each_side():
    band = Band.of(Window(5, 3) & Window(2, 7))
    assert (band.before, band.after) == (2, 3)
