"""Averages of weights: closed forms."""

from contextlib import suppress

import pytest
import torch
from torch import nn

from regard.training.optimise import MovingAverage, mean_of


def one(value: float) -> nn.Module:
    layer = nn.Linear(1, 1, bias=False)
    nn.init.constant_(layer.weight, value)
    return layer


def test_a_moving_average_is_a_geometric_sum():
    layer = one(2.0)
    average = MovingAverage(layer, decay=0.75)
    nn.init.constant_(layer.weight, 10.0)
    for step in range(1000, 1003):  # late enough for the full decay
        average.update(layer, step)
    assert average.weights["weight"].item() == pytest.approx(10 - 8 * 0.75**3)


def test_a_young_average_moves_faster():
    layer = one(0.0)
    average = MovingAverage(layer, decay=0.999)
    nn.init.constant_(layer.weight, 1.0)
    average.update(layer, 1)
    assert average.weights["weight"].item() == pytest.approx(1 - 2 / 11)


def test_the_average_is_shown_for_a_while_and_the_own_weights_come_back():
    layer = one(3.0)
    average = MovingAverage(layer, decay=0.5)
    nn.init.constant_(layer.weight, 7.0)
    with suppress(KeyError), average.shown(layer):
        assert layer.weight.item() == 3.0
        raise KeyError  # a stop may end an evaluation, too
    assert layer.weight.item() == 7.0


def test_an_average_restored_from_weights_starts_there():
    layer = one(3.0)
    average = MovingAverage(layer, decay=0.5)
    average.restore({"weight": torch.full((1, 1), 5.0), "a buffer": torch.zeros(2)})
    assert average.weights["weight"].item() == 5.0


def test_the_mean_of_several_states_is_exact_to_the_last_bit_of_double():
    values = [0.1, 0.2, 0.4]
    states = [{"w": torch.tensor([value]), "n": torch.tensor([7])} for value in values]
    mean = mean_of(states)
    expected = torch.tensor([sum(torch.tensor([v]).double().item() for v in values) / 3])
    assert torch.equal(mean["w"], expected)
    assert mean["n"].tolist() == [7]


def test_tied_weights_stay_tied():
    states = []
    for value in (1.0, 3.0):
        shared = torch.full((2,), value)
        states.append({"a": shared, "b": shared, "c": torch.full((2,), value)})
    mean = mean_of(states)
    assert mean["a"] is mean["b"]
    assert mean["a"] is not mean["c"]
    assert mean["a"].tolist() == [2.0, 2.0]
