"""The guard: nothing that is not finite passes, and spikes are told (T8, T9)."""

import json

import pytest
import torch
from torch import nn

from regard.errors import DivergedError
from regard.training.guard import IN_A_THOUSAND, PERSISTS, SIGMAS, WINDOW, Guard
from regard.training.shard import norms
from regard.training.update import unfit


def spoiled() -> list[str]:
    """The bad parameters of a model of which only the second layer's gradient is bad."""
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    model[1].weight.grad[0, 2] = torch.inf
    return unfit(model, norms(model).tolist())


def test_the_report_names_the_first_bad_gradient_and_the_rows(tmp_path):
    note = Guard(tmp_path).skip(7, [4, 2], spoiled(), float("nan"))
    assert note == "step 7 skipped: the gradient is not finite (see nan-report.json)"
    assert json.loads((tmp_path / "nan-report.json").read_text()) == {
        "step": 7,
        "loss": None,
        "first_bad_gradient": "1.weight",
        "bad_gradients": 1,
        "rows": [4, 2],
        "skipped_steps": [7],
    }


def test_three_in_a_row_end_training(tmp_path):
    guard = Guard(tmp_path)
    for step in (3, 4):
        guard.skip(step, [], spoiled(), 1.0)
    with pytest.raises(DivergedError) as caught:
        guard.skip(5, [], spoiled(), 1.0)
    assert caught.value.exit_code == 7
    assert caught.value.what == (
        "training diverged at step 5: 3 of the last 1,000 steps had numbers that are not finite"
    )
    assert "train.rate" in caught.value.remedy


def test_more_than_one_in_a_hundred_end_training_and_old_ones_are_forgiven(tmp_path):
    guard = Guard(tmp_path)
    for number in range(IN_A_THOUSAND):
        guard.skip(1 + 50 * number, [], spoiled(), 1.0)
    later = Guard(tmp_path)
    later.restore(json.loads(json.dumps(guard.as_dict())))
    later.skip(1001, [], spoiled(), 1.0)  # the first one lies 1,000 steps back
    with pytest.raises(DivergedError):
        later.skip(1003, [], spoiled(), 1.0)


def test_only_the_first_process_writes(tmp_path):
    Guard(tmp_path, writes=False).skip(1, [], spoiled(), 1.0)
    assert not list(tmp_path.iterdir())


def losses(count: int) -> list[float]:
    """A usual range: the median is 2, half of all lie within 0.1 of it."""
    return [2 + 0.1 * (-1) ** number * (1 + number % 2) for number in range(count)]


def test_a_spike_is_told_once_when_it_persists(tmp_path):
    guard = Guard(tmp_path)
    assert not any(guard.spike(loss) for loss in losses(WINDOW))
    told = [guard.spike(9.0) for _ in range(PERSISTS + 2)]
    assert told == [False] * (PERSISTS - 1) + [True, False, False]
    assert max(guard.losses) < 9  # a spike is not usual


def test_a_single_high_loss_and_a_young_training_are_no_spike(tmp_path):
    guard = Guard(tmp_path)
    assert not any(guard.spike(loss) for loss in [9.0, *losses(WINDOW // 2 - 2), 9.0, 9.0, 9.0])
    guard = Guard(tmp_path)
    for loss in losses(WINDOW):
        guard.spike(loss)
    assert not any(guard.spike(loss) for loss in [9.0, 9.0, 2.0] * 5)


def test_the_border_lies_six_sigmas_above_the_median(tmp_path):
    """A sigma by the median distance, 1.4826 of which is one of a normal law."""
    for nudge, far in ((-1e-6, 0), (1e-6, 1)):
        guard = Guard(tmp_path)
        for loss in (1.9, 2.0, 2.1) * WINDOW:
            guard.spike(loss)
        guard.spike(2.0 + SIGMAS * 1.4826 * 0.1 + nudge)
        assert guard.above == far


def test_what_it_remembers_survives_a_checkpoint(tmp_path):
    guard = Guard(tmp_path)
    for loss in [*losses(WINDOW), 9.0, 9.0]:
        guard.spike(loss)
    again = Guard(tmp_path)
    again.restore(json.loads(json.dumps(guard.as_dict())))
    assert again.spike(9.0)
