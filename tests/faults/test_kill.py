"""kill -9 at random points of a training: no checkpoint is lost, every finished run has the same bits (T1).

A child is forked, killed somewhere, and forked again until it is let finish. Half of the kills come from
outside at a random time; the others strike from inside, at a random call of a chosen part of the work, so
that short parts are met as often as long ones.
"""

import mmap
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from regard.errors import PortError
from regard.run import folder as run_folder
from regard.run import weights
from regard.run.checkpoint import Checkpoints
from regard.run.folder import Run
from regard.run.settings import RunSettings
from regard.training import Trainer, judge
from tests.training.kit import changed, ended, fork, numbers_of, ranks, tiny, trained

KINDS = ("rnn", "transformer", "pointer")
# Each part of the work: where it lives, how often it is done in a run, and about how many calls it makes.
PARTS: dict[str, tuple[object, str, int, int]] = {
    "vocabulary": (run_folder, "_task", 1, 400),
    "data": (Run, "_store_corpus", 2, 900),
    "probes": (Run, "_keep_probes", 1, 200),
    "step": (Trainer, "_advance", 10, 800),
    "evaluation": (judge.Judge, "evaluate", 4, 8000),
    "model file": (weights, "write", 4, 300),
    "saving": (Checkpoints, "_write", 5, 600),
    "pruning": (Checkpoints, "_prune", 5, 300),
}
LONG = bool(os.environ.get("REGARD_LONG"))


def strike(part: str, time_of: int, calls: int, note: mmap.mmap) -> None:
    """From now on, this process kills itself `calls` calls into the `time_of`-th doing of a part."""
    home, name, *_ = PARTS[part]
    original, done = getattr(home, name), 0

    def kill() -> None:
        note[0] = 1
        os.kill(os.getpid(), signal.SIGKILL)

    def working(*arguments, **named):
        nonlocal done
        done += 1
        if done != time_of:
            return original(*arguments, **named)
        left = calls

        def count(_frame, event: str, _argument: object) -> None:
            nonlocal left
            left -= event == "call"
            if left <= 0:
                kill()

        sys.setprofile(count)
        try:
            original(*arguments, **named)
        finally:
            kill()  # the part was shorter than thought: its end is a point, too

    setattr(home, name, working)


def inside(draw: random.Random, work: Callable[[], object], note: mmap.mmap) -> tuple[str, int]:
    """A child that will kill itself in some part."""
    part = draw.choice(list(PARTS))
    _, _, often, calls = PARTS[part]
    time_of, at = draw.randint(1, often), draw.randrange(calls)

    def armed() -> object:
        strike(part, time_of, at, note)
        return work()

    (code,) = ended([fork(armed)])
    return part, code


def outside(draw: random.Random, work: Callable[[], object], seconds: float) -> tuple[str, int]:
    """A child that is killed from outside after a random time."""
    child = fork(work)
    time.sleep(draw.uniform(0, seconds))
    os.kill(child, signal.SIGKILL)
    (code,) = ended([child])
    return "any time", code


class Loop:
    """Runs of one kind of model, killed again and again."""

    def __init__(self, home: Path, kind: str, seed: int) -> None:
        self.home, self.draw = home, random.Random(f"{kind}/{seed}")
        self.settings = tiny(
            home, kind, steps=10, checkpoint_every=2, evaluate_every=3, keep=2, evaluate_examples=2
        )
        self.note = mmap.mmap(-1, 1)
        self.kills: Counter[str] = Counter()
        self.finished = 0
        trained(
            home / "warm up", changed(self.settings, steps=3)
        )  # here, so that children need not
        began = time.monotonic()
        trained(home / "straight", self.settings)
        self.seconds = time.monotonic() - began
        self.expected = numbers_of(home / "straight")

    def one_run(self, most: int) -> None:
        """Kill a run up to `most` times, let it finish, and compare it with the undisturbed one."""
        folder = self.home / f"run-{self.finished}"
        newest = -1
        for _ in range(self.draw.randint(1, most)):
            part, code = self._kill(lambda: trained(folder, self.settings))
            if code == 0:
                continue  # it was quicker
            assert code == -signal.SIGKILL, f"{part}: the child ended with {code}"
            self.kills[part] += 1
            newest = self._nothing_lost(folder, newest)
        assert ended([fork(lambda: trained(folder, self.settings))]) == [0]
        assert numbers_of(folder) == self.expected
        assert not list(folder.rglob(".tmp-*"))
        shutil.rmtree(folder)
        self.finished += 1

    def _kill(self, work: Callable[[], object]) -> tuple[str, int]:
        if self.draw.random() < 0.5:
            return outside(self.draw, work, self.seconds)
        return inside(self.draw, work, self.note)

    def _nothing_lost(self, folder: Path, newest: int) -> int:
        """The newest checkpoint from before is still there, or a newer one, and none is damaged."""
        found = Checkpoints(folder / "checkpoints").latest()
        step = -1 if found is None else found.step
        assert found is None or not found.warnings
        assert step >= newest
        return step


@pytest.fixture
def home(monkeypatch) -> Iterator[Path]:
    """A folder in memory, one sentence to look at, and one thread: a forked child has no others."""
    monkeypatch.setattr(judge, "SAMPLES", 1)
    memory, threads = Path("/dev/shm"), torch.get_num_threads()
    path = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None))
    torch.set_num_threads(1)
    yield path
    torch.set_num_threads(threads)
    shutil.rmtree(path)


def killed(home: Path, count: int, seed: int) -> Counter[str]:
    """So many kills over all kinds of models; how many met each part."""
    loops = {kind: Loop(home / kind, kind, seed) for kind in KINDS}
    kills: Counter[str] = Counter()
    while kills.total() < count:
        for loop in loops.values():
            if kills.total() < count:
                loop.one_run(most=5)
                kills = sum((one.kills for one in loops.values()), Counter())
    runs = sum(loop.finished for loop in loops.values())
    print(
        f"\n{kills.total()} kills, {runs} runs finished, 0 lost, all with the same bits: {dict(kills)}"
    )
    return kills


def test_a_few_kills(home):
    assert killed(home, 8, seed=1).total() >= 8


@pytest.mark.slow
def test_many_kills(home):
    kills = killed(home, 500 if LONG else 150, seed=2)
    assert set(kills) == {*PARTS, "any time"}  # every part was met


def left(pid: int) -> int:
    """The exit code of a child that is ended if it does not leave by itself."""
    try:
        return ended([pid], 6)[0]
    except AssertionError:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def both(settings: RunSettings, folder: Path) -> list[int]:
    return ranks(lambda: trained(folder, settings))


@pytest.mark.slow
def test_one_of_two_processes_killed(home):  # T18
    draw = random.Random(3)
    settings = changed(
        tiny(home, "rnn", steps=10, checkpoint_every=2, evaluate_every=3, keep=2), accumulate=2
    )
    began = time.monotonic()
    assert ended(both(settings, home / "straight")) == [0, 0]
    seconds = time.monotonic() - began
    expected, kills, met, runs = numbers_of(home / "straight"), 0, 0, 0
    while kills < (100 if LONG else 20):
        folder = home / f"run-{runs}"
        for _ in range(3):
            pids = both(settings, folder)
            time.sleep(draw.uniform(0, seconds))
            victim = draw.randrange(2)
            os.kill(pids[victim], signal.SIGKILL)
            code, other = left(pids[victim]), left(pids[1 - victim])
            # Before they met, torchrun must end the other; after all was done, it ended well.
            assert other in (PortError.exit_code, -signal.SIGKILL, 0)
            met += other == PortError.exit_code
            kills += code == -signal.SIGKILL
        assert ended(both(settings, folder)) == [0, 0]
        assert numbers_of(folder) == expected
        runs += 1
    assert met > kills / 3
