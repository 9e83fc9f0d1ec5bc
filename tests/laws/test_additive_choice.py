"""What the additive score's GPU programs are given, and what a mask is to them; no GPU is needed to ask."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from regard.accelerate import attend as kernels
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
)

QUERIES, KEYS, NEURONS = 211, 223, 64


@pytest.fixture
def chosen(monkeypatch):
    """The names of the kernels that were asked, with tensors of a GPU that need not be there."""
    names = []
    for kernel in (kernels.additive, kernels.blocked, kernels.explicit):
        name = kernel.__name__.rsplit(".", 1)[-1]
        monkeypatch.setattr(
            kernel, "attend", lambda *given, name=name: names.append(name) or given[1]
        )
    monkeypatch.setattr(kernels.additive, "INSTALLED", True)
    with FakeTensorMode():
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
    return kernels.attend(attention.train(training), query, Memory(key, value, mask))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("mask", [None, Causal(), Window(5, 3), Causal() & Window(9, 2)], ids=str)
def test_a_gpu_works_out_masks_that_are_bands(chosen, mask, dtype):
    ask(mask, dtype=dtype)
    assert chosen == ["additive"]


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
    assert chosen in (["blocked"], ["explicit"])


def test_dropout_matters_in_training_alone(chosen):
    ask(dropout=0.1, training=False)
    assert chosen == ["additive"]


def test_without_triton_nothing_is_given_to_it(chosen, monkeypatch):
    monkeypatch.setattr(kernels.additive, "INSTALLED", False)
    ask()
    assert chosen in (["blocked"], ["explicit"])


@pytest.mark.parametrize(("device", "kernel"), [("cpu", "blocked"), ("cuda", "explicit")])
def test_a_gpu_forms_at_once_what_a_processor_takes_in_blocks(chosen, device, kernel):
    ask(mask=GlobalWindow(3, 2), device=device)
    assert chosen == [kernel]


def test_few_triples_are_not_worth_a_program(chosen):
    ask(queries=2)
    assert chosen == ["explicit"]


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
