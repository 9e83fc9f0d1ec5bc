"""AdamW and its rate: closed forms, and moments that survive a checkpoint."""

import math

import pytest
import torch
from torch import nn

from regard.run.settings import TrainSettings
from regard.training.optimise import (
    make_optimiser,
    optimiser_tensors,
    rate_at,
    restore_optimiser,
    set_rate,
)


def rates(schedule: str, steps: list[int], **choices) -> list[float]:
    settings = TrainSettings(schedule=schedule, rate=0.02, warmup=100, steps=1000, **choices)
    return [rate_at(step, settings, width=512) for step in steps]


@pytest.mark.parametrize("schedule", ["constant", "inverse-sqrt", "cosine"])
def test_the_rate_rises_in_a_line_over_the_warm_up(schedule):
    assert rates(schedule, [1, 50, 100]) == pytest.approx([0.0002, 0.01, 0.02])


def test_a_constant_rate_stays():
    assert rates("constant", [101, 999, 10**6]) == [0.02] * 3


def test_four_times_the_steps_is_half_the_rate():
    assert rates("inverse-sqrt", [400, 1600]) == pytest.approx([0.01, 0.005])


def test_a_cosine_goes_from_all_over_half_to_nothing():
    assert rates("cosine", [550, 1000, 2000]) == pytest.approx([0.01, 0, 0], abs=1e-12)
    assert rates("cosine", [325]) == pytest.approx([0.01 * (1 + math.sqrt(0.5))])


def test_noam_is_the_formula_of_the_paper():
    expected = [0.02 * 512**-0.5 * min(step**-0.5, step * 100**-1.5) for step in (1, 99, 100, 5000)]
    assert rates("noam", [1, 99, 100, 5000]) == pytest.approx(expected)


@pytest.mark.parametrize("schedule", ["constant", "inverse-sqrt", "noam", "cosine"])
def test_without_warm_up_the_first_step_has_the_whole_rate(schedule):
    settings = TrainSettings(schedule=schedule, rate=0.02, warmup=0, steps=10_000)
    assert rate_at(1, settings, width=1) == pytest.approx(0.02)


def learned(seed: int, steps: int, state: dict | None = None) -> tuple[nn.Module, dict]:
    """A small layer after some steps of AdamW, from the beginning or from a saved middle."""
    torch.manual_seed(seed)
    layer = nn.Linear(3, 5)
    optimiser = make_optimiser(layer, TrainSettings(decay=0.1, rate=0.05))
    if state is not None:
        layer.load_state_dict(state["layer"])
        restore_optimiser(optimiser, layer, state["moments"])
    for step in range(steps):
        optimiser.zero_grad()
        generator = torch.Generator().manual_seed(step + (state or {}).get("step", 0))
        layer(torch.randn(7, 3, generator=generator)).square().sum().backward()
        optimiser.step()
    saved = {name: tensor.clone() for name, tensor in optimiser_tensors(optimiser, layer).items()}
    weights = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
    return layer, {"layer": weights, "moments": saved, "step": steps}


def test_moments_are_named_after_their_parameters_and_come_back():
    straight, _ = learned(1, 7)
    _, middle = learned(1, 4)
    assert set(middle["moments"]) == {
        f"{name}.{key}" for name in ("weight", "bias") for key in ("step", "exp_avg", "exp_avg_sq")
    }
    assert middle["moments"]["weight.step"].item() == 4
    again, _ = learned(2, 3, middle)
    assert torch.equal(again.weight, straight.weight)
    assert torch.equal(again.bias, straight.bias)


def test_matrices_decay_and_biases_do_not():
    layer = nn.Linear(3, 5)
    before = {name: tensor.clone() for name, tensor in layer.named_parameters()}
    optimiser = make_optimiser(layer, TrainSettings(decay=0.5, rate=1.0))
    set_rate(optimiser, 0.1)
    for parameter in layer.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    torch.testing.assert_close(layer.weight, 0.95 * before["weight"])
    assert torch.equal(layer.bias, before["bias"])
