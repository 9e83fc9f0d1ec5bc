"""One holder at a time, named to the others; a lock whose holder is gone is nobody's."""

import errno
import json
import os
import select
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable

import pytest

from regard.errors import UsageError
from regard.run import lock, system
from regard.run.lock import Holder, Lock


def fork(work: Callable[[], object]) -> int:
    """A child that does `work` and leaves; its process id."""
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
    return pid


def code_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def without_locks(_descriptor: int) -> None:
    """A disk that knows no locks."""
    return


def leave_behind(folder, **changes: object) -> None:
    """The text of a lock whose holder is no longer here to hold it."""
    here = Holder.here()
    text = {"pid": here.pid, "host": here.host, "boot": here.boot, "started": here.started}
    (folder / lock.NAME).write_text(json.dumps(text | changes))


def dead_pid() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_the_second_is_refused_with_the_first_ones_id(tmp_path):
    with Lock(tmp_path / "run"), pytest.raises(UsageError) as caught:
        Lock(tmp_path / "run").__enter__()
    pid, host = os.getpid(), socket.gethostname()
    assert caught.value.what == f"process {pid} on {host} works in this run folder"
    assert caught.value.where == str(tmp_path / "run" / ".lock")
    assert caught.value.remedy == f"wait until it ends, or stop it with `kill {pid}`"
    assert caught.value.exit_code == 2
    with Lock(tmp_path / "run"):
        pass


def test_the_file_says_who_holds_it_and_then_nobody(tmp_path):
    with Lock(tmp_path):
        told = json.loads((tmp_path / ".lock").read_text())
        assert told == {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "boot": system.boot_id(),
            "started": system.started(os.getpid()),
        }
    assert (tmp_path / ".lock").read_bytes() == b""


def test_of_many_starters_one_wins_and_the_others_name_it(tmp_path):
    for _ in range(8):
        ready, go = os.pipe()
        results, report = os.pipe()
        stay, leave = os.pipe()

        def contend(ready=ready, go=go, report=report, stay=stay, leave=leave) -> None:
            os.close(go)
            os.close(leave)
            os.read(ready, 1)  # all wait here, and go together when the other end closes
            try:
                with Lock(tmp_path):
                    os.write(report, f"won {os.getpid()}\n".encode())
                    os.read(stay, 1)
            except UsageError as error:
                os.write(report, f"lost {error.what.split()[1]}\n".encode())

        children = [fork(contend) for _ in range(4)]
        os.close(go)
        lines = b""
        while lines.count(b"\n") < len(children):
            assert select.select([results], [], [], 30)[0], "a starter hangs"
            lines += os.read(results, 1000)
        os.close(leave)
        assert [code_of(child) for child in children] == [0] * len(children)
        for end in (ready, results, report, stay):
            os.close(end)
        words = [line.split() for line in lines.decode().splitlines()]
        [winner] = [pid for outcome, pid in words if outcome == "won"]
        assert int(winner) in children
        assert [pid for outcome, pid in words if outcome == "lost"] == [winner] * 3


def test_a_count_kept_under_the_lock_is_right(tmp_path):
    counter = tmp_path / "count"
    counter.write_text("0")

    def count() -> None:
        done = 0
        while done < 20:
            try:
                with Lock(tmp_path):
                    counter.write_text(str(int(counter.read_text()) + 1))
                    done += 1
            except UsageError:
                pass

    children = [fork(count) for _ in range(3)]
    assert [code_of(child) for child in children] == [0, 0, 0]
    assert counter.read_text() == "60"


def test_a_killed_holder_leaves_the_folder_free(tmp_path):
    held, report = os.pipe()

    def hold() -> None:
        with Lock(tmp_path):
            os.write(report, b"x")
            signal.pause()

    child = fork(hold)
    os.read(held, 1)
    with pytest.raises(UsageError, match=f"process {child} on"):
        Lock(tmp_path).__enter__()
    os.kill(child, signal.SIGKILL)
    assert code_of(child) == -signal.SIGKILL
    assert json.loads((tmp_path / ".lock").read_text())["pid"] == child
    with Lock(tmp_path):
        assert json.loads((tmp_path / ".lock").read_text())["pid"] == os.getpid()
    os.close(held)
    os.close(report)


def test_a_worker_that_outlives_its_parent_does_not_hold_the_lock(tmp_path):
    told, report = os.pipe()

    def hold() -> None:
        Lock(tmp_path).__enter__()
        worker = fork(lambda: signal.pause())
        os.write(report, f"{worker}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)

    child = fork(hold)
    assert code_of(child) == -signal.SIGKILL
    worker = int(os.read(told, 100))
    try:
        assert system.alive(worker)
        with Lock(tmp_path):
            pass
    finally:
        os.kill(worker, signal.SIGKILL)
    os.close(told)
    os.close(report)


def test_a_forked_child_may_leave_the_block_without_freeing_the_lock(tmp_path):
    with Lock(tmp_path) as held:
        assert code_of(fork(lambda: held.__exit__())) == 0
        with pytest.raises(UsageError):
            Lock(tmp_path).__enter__()


@pytest.mark.parametrize("text", ["", "x", "[]", '{"pid": "7"}', '{"pid": 7}', "\0" * 5000])
def test_whatever_stands_in_a_free_file_is_no_hindrance(tmp_path, text):
    (tmp_path / ".lock").write_text(text)
    with Lock(tmp_path):
        pass


@pytest.mark.parametrize(
    "changes",
    [{"pid": 2**30}, {"boot": "another"}, {"started": "1"}, {"pid": 0}, {"pid": 10**12}],
    ids=str,
)
@pytest.mark.parametrize("locks", [True, False])
def test_a_stale_lock_is_taken_over(tmp_path, monkeypatch, changes, locks):
    if not locks:
        monkeypatch.setattr(lock, "_claim", without_locks)
    leave_behind(tmp_path, **changes)
    with Lock(tmp_path):
        assert json.loads((tmp_path / ".lock").read_text())["pid"] == os.getpid()


def test_without_locks_or_proc_the_process_id_decides(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "_claim", without_locks)
    monkeypatch.setattr(system, "_PROCESSES", tmp_path / "missing")
    leave_behind(tmp_path, pid=os.getppid())
    with pytest.raises(UsageError, match=f"process {os.getppid()} on"):
        Lock(tmp_path).__enter__()
    leave_behind(tmp_path, pid=dead_pid())
    with Lock(tmp_path), pytest.raises(UsageError, match=f"process {os.getpid()} on"):
        Lock(tmp_path).__enter__()


def test_without_locks_another_machine_may_still_be_at_work(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "_claim", without_locks)
    leave_behind(tmp_path, pid=2**30, host="elsewhere", boot="another")
    with pytest.raises(
        UsageError, match="process 1073741824 on elsewhere works in this run folder"
    ):
        Lock(tmp_path).__enter__()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP])
def test_a_disk_that_knows_no_locks_is_noticed(tmp_path, monkeypatch, code):
    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", refuse)
    with Lock(tmp_path), pytest.raises(UsageError, match=f"process {os.getpid()} on"):
        Lock(tmp_path).__enter__()


def test_a_holder_that_never_says_its_name_is_still_respected(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "_PATIENCE", 0.05)
    with Lock(tmp_path):
        (tmp_path / ".lock").write_bytes(b"")
        with pytest.raises(UsageError) as caught:
            Lock(tmp_path).__enter__()
    assert caught.value.what == "another process works in this run folder"
