"""Asked to stop, twice asked, and two at once: exit codes, and nothing lost (T2, T5, T7)."""

import os
import signal
import time
from pathlib import Path

import pytest

from regard.cli.main import status
from regard.config import to_toml
from regard.errors import ResumeError, UsageError
from regard.run import files
from regard.run.folder import Run
from regard.show.training_progress import JsonProgress
from regard.training import judge
from tests.training.kit import (
    Ears,
    changed,
    ended,
    fork,
    kill_at,
    numbers_of,
    steps_of,
    tiny,
    trained,
)

MOMENTS = {  # when the signal comes -> the step that is saved, or None when there is nothing to save yet
    "vocabulary": None,
    "train data": None,
    "valid data": 1,
    "step": 7,
    "evaluation": 4,
}


@pytest.fixture(autouse=True)
def heard():
    """Signals as a terminal leaves them: anyone who runs these tests by `nohup` has SIGHUP ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="module")
def straight(quick_path_factory):
    folder = quick_path_factory()
    settings = tiny(folder)
    trained(folder / "run", settings)
    return settings, numbers_of(folder / "run")


def raise_at(monkeypatch, moment: str, number: int) -> None:
    """Signal this process when training comes to this moment, once."""
    done = []

    def once() -> None:
        if not done:
            done.append(moment)
            signal.raise_signal(number)

    def preparing(_self, what: str, _count: int) -> None:
        if what.endswith(moment):
            once()

    def stepped(_self, report) -> None:
        if moment == "step" and report.step == 6:
            once()

    def held_out(*arguments):
        if moment == "evaluation":
            once()
        return original(*arguments)

    original = judge.held_out_loss
    monkeypatch.setattr(JsonProgress, "preparing", preparing)
    monkeypatch.setattr(JsonProgress, "stepped", stepped)
    monkeypatch.setattr(judge, "held_out_loss", held_out)


@pytest.mark.parametrize(
    ("moment", "number", "code"),
    [
        *((moment, signal.SIGTERM, 143) for moment in MOMENTS),
        *((moment, signal.SIGINT, 130) for moment in ("vocabulary", "step")),
        *((moment, signal.SIGHUP, 129) for moment in MOMENTS),
    ],
)
def test_a_signal_is_an_exit_code_and_the_next_start_goes_on(
    straight, tmp_path, monkeypatch, capsys, moment, number, code
):  # T2
    settings, numbers = straight
    config = tmp_path / "settings.toml"
    config.write_text(to_toml(settings))
    command = ["train", "--config", str(config), "--out", str(tmp_path / "run"), "--json"]
    command += ["--device", "cpu"]
    raise_at(monkeypatch, moment, number)
    assert status(command) == code
    step = MOMENTS[moment]
    assert (tmp_path / "run" / "checkpoints").exists() == (step is not None)
    if step is not None:
        assert Run.open(tmp_path / "run").checkpoints.steps()[-1] == step
    assert status(command) == 0
    assert numbers_of(tmp_path / "run") == numbers


def test_a_second_signal_ends_it_at_once(straight, tmp_path):  # T2
    settings, numbers = straight

    def twice(event: str, step: int) -> None:
        if (event, step) == ("stepped", 8):
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)

    child = fork(lambda: trained(tmp_path / "run", settings, listener=Ears(twice)))
    assert ended([child], 30) == [130]
    assert Run.open(tmp_path / "run").checkpoints.steps() == [3, 6]
    trained(tmp_path / "run", settings)
    assert numbers_of(tmp_path / "run") == numbers


def test_handlers_are_as_before_afterwards(tmp_path):
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    trained(tmp_path / "run", tiny(tmp_path, steps=1))
    assert [signal.getsignal(number) for number in numbers] == before


def test_a_terminal_that_closes_says_so_twice_and_training_is_saved(straight, tmp_path):
    settings, numbers = straight

    def twice(event: str, step: int) -> None:
        if (event, step) == ("stepped", 8):
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGHUP)

    outcome = trained(tmp_path / "run", settings, listener=Ears(twice))
    assert (outcome.signal, outcome.step) == (signal.SIGHUP, 8)
    assert Run.open(tmp_path / "run").checkpoints.steps()[-1] == 8
    trained(tmp_path / "run", settings)
    assert numbers_of(tmp_path / "run") == numbers


def test_a_run_that_was_told_to_outlive_its_terminal_does(straight, tmp_path):
    settings, numbers = straight
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` does
    try:
        outcome = trained(tmp_path / "run", settings, listener=kill_at("stepped", 8, signal.SIGHUP))
    finally:
        signal.signal(signal.SIGHUP, before)
    assert outcome.signal is None
    assert numbers_of(tmp_path / "run") == numbers


@pytest.mark.parametrize("signalled", [True, False])
def test_a_terminal_that_is_gone_cannot_be_written_to_and_nothing_is_lost(
    straight, tmp_path, signalled
):
    """With the signal it is saved; without (a job that was disowned) it goes on, unheard."""
    settings, numbers = straight
    ours, theirs = os.openpty()

    def gone(event: str, step: int) -> None:
        if (event, step) == ("stepped", 6):
            os.close(ours)
        if event in ("stepped", "evaluated") and step >= 6:
            os.write(2, b"told\n")
        if signalled and (event, step) == ("stepped", 8):
            os.kill(os.getpid(), signal.SIGHUP)

    def work() -> int:
        os.dup2(theirs, 2)
        outcome = trained(tmp_path / "run", settings, listener=Ears(gone))
        os.write(2, b"the end\n")  # goes nowhere, and hurts nobody
        return outcome.signal or 0

    child = fork(work)
    os.close(theirs)
    os.close(ours)
    assert ended([child]) == [signal.SIGHUP if signalled else 0]
    assert Run.open(tmp_path / "run").checkpoints.steps()[-1] == (8 if signalled else 12)
    trained(tmp_path / "run", settings)
    assert numbers_of(tmp_path / "run") == numbers


def test_two_trainers_of_one_run(straight, tmp_path):  # T7
    settings, numbers = straight
    go_on = tmp_path / "go on"

    def linger(event: str, step: int) -> None:
        while (event, step) == ("stepped", 4) and not go_on.exists():
            time.sleep(0.01)

    child = fork(lambda: trained(tmp_path / "run", settings, listener=Ears(linger)))
    while not (tmp_path / "run" / "metrics.jsonl").exists():
        time.sleep(0.01)
    with pytest.raises(
        UsageError, match=rf"process {child} on .* works in this run folder"
    ) as caught:
        trained(tmp_path / "run", settings)
    assert caught.value.exit_code == 2
    go_on.touch()
    assert ended([child], 60) == [0]
    assert numbers_of(tmp_path / "run") == numbers


def test_other_settings_are_refused_and_harmless_or_allowed_ones_go_on(straight, tmp_path):  # T5
    settings, _ = straight
    run = tmp_path / "run"
    trained(run, settings, listener=kill_at("stepped", 4))
    with pytest.raises(ResumeError) as caught:
        trained(run, changed(settings, rate=0.5))
    assert caught.value.exit_code == 8
    assert caught.value.what == ("this run was begun with other settings: train.rate: 0.01 -> 0.5")
    assert trained(run, changed(settings, steps=7)).step == 7
    assert trained(run, changed(settings, steps=9, rate=0.5), allow=["train.rate"]).step == 9
    last = [entry for entry in Run.open(run).recorded("metrics") if entry["kind"] == "train"][-1]
    assert last["rate"] == pytest.approx(0.5 * (3 / 8) ** 0.5)
    assert steps_of(run) == [1, 2, 4, 6, 8]


def test_the_command_line_asks_for_the_key_and_takes_it(straight, tmp_path, capsys):  # T5
    settings, _ = straight
    config = tmp_path / "settings.toml"
    config.write_text(to_toml(settings))
    command = ["train", "--config", str(config), "--out", str(tmp_path / "run"), "--json"]
    assert status([*command, "--set", "train.steps=2"]) == 0
    change = ["--set", "train.steps=3", "--set", "train.clip=0.5"]
    assert status([*command, *change]) == 8
    assert "train.clip: 1.0 -> 0.5" in capsys.readouterr().out
    assert status([*command, *change, "--allow-change", "train.clip"]) == 0
    assert Run.open(tmp_path / "run").settings.train.clip == 0.5


def test_another_kind_of_average_begins_with_the_weights(straight, tmp_path):
    settings, _ = straight
    run = tmp_path / "run"
    trained(run, settings, listener=kill_at("stepped", 4))
    averaged = changed(settings, average="ema")
    assert trained(run, averaged, allow=["train.average"]).step == 12
    assert "average" in Run.open(run).checkpoints.latest().tensors


def test_a_vocabulary_that_changed_is_refused(straight, tmp_path):  # T5
    settings, _ = straight
    run = tmp_path / "run"
    trained(run, settings, listener=kill_at("stepped", 4))
    path = run / "tokenizer.json"
    files.write_atomic(path, path.read_bytes() + b"\n")
    with pytest.raises(ResumeError, match="the checkpoints were made from other files: tokenizer"):
        trained(run, settings)


def test_data_that_changed_is_refused(tmp_path):  # T5, T16
    settings = tiny(tmp_path)
    run = tmp_path / "run"
    trained(run, settings, listener=kill_at("stepped", 4))
    with Path(settings.data.train[0]).open("a") as file:
        file.write("a\ta\n")
    with pytest.raises(ResumeError, match="the data changed since this run began"):
        trained(run, settings)


def test_a_checkpoint_of_another_model_is_refused(straight, tmp_path):
    settings, _ = straight
    run = tmp_path / "run"
    trained(run, settings, listener=kill_at("stepped", 4))
    reader = settings.model.reader.model_copy(update={"layers": 2})
    deeper = settings.model.model_copy(update={"reader": reader})
    with pytest.raises(Exception, match="the weights do not fit the model") as caught:
        trained(run, settings.model_copy(update={"model": deeper}), allow=["model"])
    assert caught.value.exit_code == 4
