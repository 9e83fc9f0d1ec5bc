"""Saving a checkpoint with a fault, or a death, at each system call in turn: nothing is ever lost.

The loop is SQLite's: a fault at call 1, then at call 2, and so on until the work ends without meeting it.
"""

import contextlib
import errno
import itertools
import os
import resource
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from regard.errors import DiskError
from regard.run import files
from regard.run.checkpoint import Checkpoint, Checkpoints


class Fault:
    """A hook that counts calls and spoils number `at`, or, if `lasting`, each of `among` from there on."""

    def __init__(
        self, at: int, spoil: Callable[[int], int], lasting: bool = False, among=()
    ) -> None:
        self.at, self.spoil, self.lasting, self.among = at, spoil, lasting, among
        self.calls, self.met = 0, False

    def __call__(self, operation: str, path: Path, length: int) -> int:
        self.calls += 1
        due = self.calls >= self.at if self.lasting else self.calls == self.at
        if not due or (self.among and operation not in self.among):
            return length
        self.met = True
        return self.spoil(length)


def raising(fault: BaseException) -> Callable[[int], int]:
    def spoil(_length: int) -> int:
        raise fault

    return spoil


def full(length: int) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def broken(length: int) -> int:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def interrupted(length: int) -> int:
    raise InterruptedError(errno.EINTR, os.strerror(errno.EINTR))


def short(length: int) -> int:
    return min(length, 1)


def no_memory(length: int) -> int:
    raise MemoryError


def killed(length: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed process does not go on")


class Torn:
    """Half of one write, then death at the next call."""

    def __init__(self, at: int) -> None:
        self.at, self.calls = at, 0

    def __call__(self, operation: str, path: Path, length: int) -> int:
        self.calls += 1
        if self.calls > self.at:
            os._exit(77)
        return length // 2 if self.calls == self.at and length > 1 else length


def tensors(step: int) -> dict[str, dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(step)
    weight = torch.randn(7, 3, generator=generator)
    return {
        "model": {"embed": weight, "output": weight, "bias": weight[0].bfloat16()},
        "optimizer": {"moment": torch.randn(5, generator=generator), "step": torch.tensor(step)},
        "random": {"cpu": torch.randint(0, 256, (11,), dtype=torch.uint8, generator=generator)},
    }


def state(step: int) -> dict[str, object]:
    return {
        "step": step,
        "data": {"seed": 1, "epoch": step // 7, "index": step},
        "loss": 1 / (step + 1),
    }


def save(folder: Path, step: int, keep: int = 2, protect: tuple[int, ...] = ()) -> list[str]:
    return Checkpoints(folder).save(step, tensors(step), state(step), keep, protect)


def is_step(found: Checkpoint | None, step: int) -> bool:
    """Whether a checkpoint is bit for bit what was saved at a step."""
    assert found is not None
    expected = tensors(step)
    assert found.step == step
    assert found.state == state(step)
    assert found.tensors.keys() == expected.keys()
    for group, named in expected.items():
        assert found.tensors[group].keys() == named.keys()
        for name, tensor in named.items():
            assert found.tensors[group][name].dtype == tensor.dtype
            assert torch.equal(found.tensors[group][name], tensor)
    assert found.tensors["model"]["embed"] is found.tensors["model"]["output"]
    return True


def temporary(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".tmp-*"))


def in_child(work: Callable[[], object]) -> int:
    """The exit code of `work` done in a forked process; negative for a signal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def quick_folder() -> Path:
    """A folder in memory where there is one: these tests wait for thousands of writes otherwise."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None))


@pytest.fixture
def copies():
    """Folders that each hold the steps 10 and 20, as many as asked for."""
    home = quick_folder()
    template = home / "template"
    for step in (10, 20):
        save(template, step)
    numbers = itertools.count()

    def fresh() -> Path:
        return Path(shutil.copytree(template, home / f"copy-{next(numbers)}"))

    yield fresh
    shutil.rmtree(home)


def each_point(monkeypatch, copies, make: Callable[[int], Fault]):
    """Save step 30 with a fault at call 1, 2, 3, ...; give each folder and what save raised."""
    for point in itertools.count(1):
        folder, fault, raised = copies(), make(point), None
        with monkeypatch.context() as patch:
            patch.setattr(files, "fault_hook", fault)
            try:
                save(folder, 30)
            except (DiskError, MemoryError) as error:
                raised = error
        if not fault.met:
            assert point > 30, "a save makes many calls"
            assert raised is None
            return
        yield folder, raised
        shutil.rmtree(folder)


@pytest.mark.parametrize("spoil", [broken, no_memory])
def test_a_passing_fault_loses_nothing(monkeypatch, copies, spoil):
    outcomes = set()
    for folder, raised in each_point(monkeypatch, copies, lambda point: Fault(point, spoil)):
        checkpoints = Checkpoints(folder)
        found = checkpoints.latest()
        assert found is not None
        assert found.warnings == ()
        assert is_step(found, found.step)
        assert found.step == 30 or raised is not None
        assert found.step in (20, 30)
        if isinstance(raised, DiskError):
            assert temporary(folder) == []
        checkpoints.sweep()
        assert temporary(folder) == []
        outcomes.add(found.step)
    assert outcomes == {20, 30}


def test_a_disk_that_was_full_for_a_moment_gets_its_checkpoint(monkeypatch, copies):
    for folder, raised in each_point(monkeypatch, copies, lambda point: Fault(point, full)):
        assert raised is None
        assert is_step(Checkpoints(folder).latest(), 30)
        Checkpoints(folder).sweep()
        assert temporary(folder) == []


@pytest.mark.parametrize("spoil", [interrupted, short])
def test_interrupted_calls_and_short_writes_change_nothing(monkeypatch, copies, spoil):
    undisturbed = copies()
    save(undisturbed, 30)
    expected = {
        path.relative_to(undisturbed): files.sha256_of(path) for path in contents(undisturbed)
    }
    for folder, raised in each_point(monkeypatch, copies, lambda point: Fault(point, spoil)):
        assert raised is None
        assert {p.relative_to(folder): files.sha256_of(p) for p in contents(folder)} == expected


def contents(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_disk_that_stays_full_keeps_the_previous_checkpoint(monkeypatch, copies):
    needs_room = ("open", "write", "mkdir", "fsync")
    seen = 0
    for folder, raised in each_point(
        monkeypatch, copies, lambda point: Fault(point, full, lasting=True, among=needs_room)
    ):
        step = 20 if raised is not None else 30
        found = Checkpoints(folder).latest()
        assert found is not None
        assert found.step in (step, 30)
        assert is_step(found, found.step)
        assert temporary(folder) == []
        if raised is not None:
            seen += 1
            size = sum(path.stat().st_size for path in contents(found.folder))
            needed = int(raised.what.split("(")[1].split(" bytes needed")[0].replace(",", ""))
            assert 0.5 * size < needed <= size
            assert raised.what.endswith(" free)")
            assert raised.remedy == "free some space, or choose a folder on another disk"
    assert seen > 20


def test_a_disk_that_breaks_for_good_keeps_the_previous_checkpoint(monkeypatch, copies):
    for folder, _raised in each_point(
        monkeypatch, copies, lambda point: Fault(point, broken, lasting=True)
    ):
        found = Checkpoints(folder).latest()
        assert found is not None
        assert found.step in (20, 30)
        assert is_step(found, found.step)
        Checkpoints(folder).sweep()
        assert temporary(folder) == []


@pytest.mark.parametrize(
    "make", [lambda point: Fault(point, killed), Torn], ids=["kill", "torn write"]
)
def test_death_at_any_call_leaves_the_old_or_the_new(monkeypatch, copies, make):
    outcomes = []
    for point in itertools.count(1):
        folder = copies()
        with monkeypatch.context() as patch:
            patch.setattr(files, "fault_hook", make(point))
            code = in_child(lambda: save(folder, 30))  # noqa: B023
        if code == 0:
            break
        assert code in (77, -signal.SIGKILL)
        checkpoints = Checkpoints(folder)
        found = checkpoints.latest()
        assert found is not None
        assert found.warnings == ()
        assert is_step(found, found.step)
        assert all(is_step(checkpoints.load(step), step) for step in checkpoints.steps())
        outcomes.append(found.step)
        swept = checkpoints.sweep()
        assert all(name.startswith(".tmp-") for name in swept)
        assert temporary(folder) == []
        shutil.rmtree(folder)
    assert len(outcomes) > 40
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {20, 30}


def test_a_real_limit_on_file_size_is_a_disk_error(copies):
    folder = copies()
    large = {"model": {"weight": torch.zeros(100_000)}}

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        with pytest.raises(DiskError, match=r"cannot write model\.safetensors: File too large"):
            Checkpoints(folder).save(30, large, {})

    assert in_child(work) == 0
    assert is_step(Checkpoints(folder).latest(), 20)
    assert temporary(folder) == []


def test_every_byte_is_durable_before_the_name_and_the_name_before_any_removal(monkeypatch, copies):
    folder, calls = copies(), []

    def record(operation: str, path: Path, length: int) -> int:
        calls.append((operation, path.relative_to(folder.parent)))
        return length

    monkeypatch.setattr(files, "fault_hook", record)
    save(folder, 30, keep=1)
    named = calls.index(("rename", folder.relative_to(folder.parent) / "step-000000030"))
    home = calls[named][1].parent
    before, after = calls[:named], calls[named + 1 :]
    unfinished = home / f".tmp-{os.getpid()}-30"
    written = {path for operation, path in before if operation == "write"}
    assert {path.name for path in written} == {
        "model.safetensors",
        "optimizer.safetensors",
        "random.safetensors",
        "state.json",
        "MANIFEST.json",
    }
    for path in written:
        last_write = max(index for index, call in enumerate(before) if call == ("write", path))
        assert ("fsync", path) in before[last_write:]
        assert ("fsync", unfinished) in before[before.index(("fsync", path)) :]
    manifest = before.index(("open", unfinished / "MANIFEST.json"))
    assert all(before.index(("fsync", p)) < manifest for p in written if p.name != "MANIFEST.json")
    durable = after.index(("fsync", home))
    removing = ("rename", "unlink", "rmdir")
    removals = [index for index, call in enumerate(after) if call[0] in removing]
    assert not [call for call in before if call[0] in removing]
    assert len(removals) > 10
    assert durable < min(removals)


class Life(RuleBasedStateMachine):
    """Save, fail, be killed, suffer damage and resume in any order: the newest good one always loads."""

    @initialize()
    def begin(self) -> None:
        self.checkpoints = Checkpoints(quick_folder())
        self.good: list[int] = []
        self.step = 0

    def teardown(self) -> None:
        shutil.rmtree(self.checkpoints.folder)

    def save_next(self, keep: int, protect: int = -1) -> list[str]:
        step = self.step
        return self.checkpoints.save(step, tensors(step), state(step), keep, (protect,))

    def check_saved(self, keep: int, certain: bool, protect: int = -1) -> None:
        on_disk = set(self.checkpoints.steps())
        if certain or self.step in on_disk:
            self.good.append(self.step)
        # One that failed for want of room may have let the oldest go, never the newest.
        safe = keep if certain else max(1, keep - 1)
        assert set(self.good[-safe:]) <= on_disk
        assert {protect} & set(self.good) <= on_disk
        self.good = [step for step in self.good if step in on_disk]

    @rule(keep=st.integers(1, 3), protect=st.integers(0, 8))
    def save(self, keep: int, protect: int) -> None:
        self.step += 1
        assert self.save_next(keep, protect) == []
        self.check_saved(keep, True, protect)

    @rule(keep=st.integers(1, 3), point=st.integers(1, 70))
    def save_and_die(self, keep: int, point: int) -> None:
        self.step += 1
        files.fault_hook = Fault(point, killed)
        try:
            code = in_child(lambda: self.save_next(keep))
        finally:
            files.fault_hook = files._no_fault
        assert code in (0, -signal.SIGKILL)
        self.check_saved(keep, code == 0)

    @rule(keep=st.integers(1, 3), point=st.integers(1, 70), lasting=st.booleans())
    def save_on_a_bad_disk(self, keep: int, point: int, lasting: bool) -> None:
        self.step += 1
        files.fault_hook = Fault(point, full if lasting else broken, lasting)
        saved = False
        with contextlib.suppress(DiskError):
            self.save_next(keep)
            saved = True
        files.fault_hook = files._no_fault
        self.check_saved(keep, saved)

    @rule(
        which=st.integers(0, 4), place=st.floats(0, 0.999), bit=st.integers(0, 7), cut=st.booleans()
    )
    def damage(self, which: int, place: float, bit: int, cut: bool) -> None:
        if len(self.good) > 1:
            [folder] = self.checkpoints.folder.glob(f"step-{self.good.pop():09d}")
            path = sorted(folder.iterdir())[which]
            content = bytearray(path.read_bytes())
            position = int(place * len(content))
            content[position] ^= 1 << bit
            path.write_bytes(content[:position] if cut else content)

    @rule()
    def sweep(self) -> None:
        self.checkpoints.sweep()
        assert temporary(self.checkpoints.folder) == []

    @invariant()
    def the_newest_good_one_loads(self) -> None:
        if self.good:
            assert is_step(self.checkpoints.latest(), self.good[-1])


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
