"""Several processes: the same gradient, the same order, each sample judged once; one of them may die."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch.nn.parallel import DistributedDataParallel

from regard.config import to_toml
from regard.run.folder import Run
from regard.signals import Stop
from regard.tasks.objective import Objective
from regard.training import World, join, judge
from regard.training.feed import Feed, Position
from regard.training.step import Learner, Stepper
from tests.training.kit import (
    Ears,
    changed,
    ended,
    kill_at,
    model_of,
    numbers_of,
    ranks,
    steps_of,
    tiny,
    trained,
)

ALONE = World(0, 1, torch.device("cpu"))


def gradient(run: Run, world: World) -> torch.Tensor:
    """The gradient of a step of twelve batches, in double precision."""
    model = run.build_model().double()
    learner = Learner(run.task, model, Objective(0.1))
    if world.size > 1:
        learner = DistributedDataParallel(learner)
    feed = Feed(run.task, run.store("train"), run.settings.batch, 1, world)
    turn = next(feed.turns(Position(), 12, 0))
    stepper = Stepper(learner, run.settings.train, 1, world, feed.make)
    stepper.gradients(1, turn.pieces, turn.batches, stop=False)
    return torch.cat([p.grad.flatten() for p in model.parameters()])


@pytest.mark.parametrize(("kind", "size"), [("rnn", 2), ("transformer", 3)])
def test_any_number_of_processes_has_the_gradient_of_one(tmp_path, kind, size):  # T19
    """Even with dropout: a batch draws the same whichever process has it."""
    run = Run.create(tmp_path / "run", tiny(tmp_path, kind, tokens=20))
    expected = gradient(run, ALONE)

    def work() -> None:
        with join("cpu") as world:
            distance = (gradient(run, world) - expected).norm() / expected.norm()
            (tmp_path / f"rank-{world.rank}").write_text(str(distance.item()))

    assert ended(ranks(work, size)) == [0] * size
    assert all(float((tmp_path / f"rank-{rank}").read_text()) < 1e-9 for rank in range(size))


def test_evaluation_counts_each_sample_once(tmp_path):  # T22
    run = Run.create(tmp_path / "run", tiny(tmp_path, tokens=20))
    model = run.build_model().double()
    expected = judge.held_out_loss(model, judge.valid_feed(run, ALONE), ALONE, Stop())

    def work() -> None:
        with join("cpu") as world:
            loss = judge.held_out_loss(model, judge.valid_feed(run, world), world, Stop())
            (tmp_path / f"rank-{world.rank}").write_text(repr(loss))

    assert ended(ranks(work, 3)) == [0, 0, 0]
    for rank in range(3):
        assert float((tmp_path / f"rank-{rank}").read_text()) == pytest.approx(expected, rel=1e-12)


def test_two_processes_learn_what_one_does(tmp_path):  # T6, T19
    settings = tiny(tmp_path, accumulate=2)
    trained(tmp_path / "one", settings)
    assert ended(ranks(lambda: trained(tmp_path / "two", settings))) == [0, 0]
    one, two = model_of(tmp_path / "one"), model_of(tmp_path / "two")
    assert one.keys() == two.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=0, atol=1e-5)
    assert steps_of(tmp_path / "two") == steps_of(tmp_path / "one")
    losses = [
        [entry["loss"] for entry in Run.open(tmp_path / name).recorded("metrics")]
        for name in ("one", "two")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.parametrize("kind", ["pointer", "tagger", "language"])
def test_every_kind_of_model_takes_steps_with_others(tmp_path, kind):
    settings = tiny(tmp_path, kind, steps=3)
    assert ended(ranks(lambda: trained(tmp_path / "run", settings))) == [0, 0]
    assert all(tensor.isfinite().all() for tensor in model_of(tmp_path / "run").values())


def test_a_stop_asked_of_one_stops_all_and_the_next_start_goes_on(tmp_path):  # T2
    settings = tiny(tmp_path, accumulate=2)
    assert ended(ranks(lambda: trained(tmp_path / "straight", settings))) == [0, 0]

    def stopped() -> int:
        mine = kill_at("stepped", 6) if os.environ["RANK"] == "0" else Ears()
        outcome = trained(tmp_path / "run", settings, listener=mine)
        return 128 + outcome.signal if outcome.signal else 0

    assert ended(ranks(stopped)) == [143, 143]
    assert Run.open(tmp_path / "run").checkpoints.steps()[-1] == 7
    assert ended(ranks(lambda: trained(tmp_path / "run", settings))) == [0, 0]
    assert numbers_of(tmp_path / "run") == numbers_of(tmp_path / "straight")


def test_another_number_of_processes_is_said(tmp_path):  # T6
    settings = tiny(tmp_path, accumulate=2)
    trained(tmp_path / "run", settings, listener=kill_at("stepped", 4))

    def work() -> None:
        ears = Ears()
        trained(tmp_path / "run", settings, listener=ears)
        if os.environ["RANK"] == "0":
            (tmp_path / "notes").write_text("\n".join(ears.of("noted")))

    assert ended(ranks(work)) == [0, 0]
    notes = (tmp_path / "notes").read_text().split("\n")
    assert any(note.startswith("not bit-identical: world 1 -> 2") for note in notes), notes
    assert steps_of(tmp_path / "run") == [1, 2, 4, 6, 8, 10, 12]


@pytest.mark.parametrize(
    ("kind", "average"),
    [
        ("transformer", "none"),
        pytest.param("transformer", "ema", marks=pytest.mark.slow),
        pytest.param("rnn", "last", marks=pytest.mark.slow),
    ],
)
def test_a_spread_model_learns_saves_and_resumes_as_a_whole_one(tmp_path, kind, average):
    settings = tiny(tmp_path, kind, average=average)
    assert ended(ranks(lambda: trained(tmp_path / "whole", settings))) == [0, 0]
    spread = changed(settings, distribute="fsdp")

    def stopped() -> None:
        trained(tmp_path / "spread", spread, listener=kill_at("stepped", 6))

    assert ended(ranks(stopped)) == [0, 0]
    assert ended(ranks(lambda: trained(tmp_path / "spread", spread))) == [0, 0]
    whole, again = model_of(tmp_path / "whole"), model_of(tmp_path / "spread")
    assert whole.keys() == again.keys()
    for name, tensor in whole.items():
        # A key's bias adds the same to all scores of a query: its gradient is rounding, made large by Adam.
        if not name.endswith("key.bias"):
            torch.testing.assert_close(again[name], tensor, rtol=0, atol=1e-5)
    assert steps_of(tmp_path / "spread", "valid") == [4, 8, 12]
    trained(tmp_path / "spread", changed(spread, steps=14))  # and one process may go on alone


SCRIPT = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from regard.cli.main import status
sys.exit(status(["train", "--config", sys.argv[1], "--out", sys.argv[2], "--json", "--device", "cpu"]))
"""


def torchrun(folder: Path) -> list[str]:
    script = folder / "script.py"
    script.write_text(SCRIPT)
    run = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    return [*run, str(script), str(folder / "settings.toml"), str(folder / "run")]


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(task) for task in tasks]


@pytest.mark.slow
def test_a_process_killed_under_torchrun_ends_all_and_the_next_start_resumes(tmp_path):  # T18
    settings = tiny(tmp_path, steps=3000, accumulate=2, checkpoint_every=20, evaluate_every=1000)
    (tmp_path / "settings.toml").write_text(to_toml(settings))
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(torchrun(tmp_path), env=environment) as started:
        while not list((tmp_path / "run").glob("checkpoints/step-*40")):
            assert started.poll() is None
            time.sleep(0.05)
        os.kill(children_of(started.pid)[-1], signal.SIGKILL)
        assert started.wait(120) != 0
    checkpoint = Run.open(tmp_path / "run").checkpoints.latest()
    assert checkpoint.step >= 40
    shorter = changed(settings, steps=checkpoint.step + 10)
    (tmp_path / "settings.toml").write_text(to_toml(shorter))
    subprocess.run(torchrun(tmp_path), env=environment, check=True, timeout=300)
    run = Run.open(tmp_path / "run")
    assert run.checkpoints.latest().step == checkpoint.step + 10
    steps = steps_of(tmp_path / "run")
    assert steps == sorted(set(steps))
