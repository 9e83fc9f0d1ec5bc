"""Files are replaced whole or not at all, lines are whole, and every complaint says what to do."""

import errno
import hashlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DiskError
from regard.run import files, system


class Fault:
    """Raises `error` at call `at`; counts the calls."""

    def __init__(self, at: int, error: BaseException) -> None:
        self.at, self.error, self.calls = at, error, 0

    def __call__(self, operation: str, path: Path, length: int) -> int:
        self.calls += 1
        if self.calls == self.at:
            raise self.error
        return length


FAULTS = [
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    OSError(errno.EIO, os.strerror(errno.EIO)),
    MemoryError(),
    KeyboardInterrupt(),
]


def each_point(monkeypatch, error: BaseException, work):
    """Do `work` with the fault at call 1, 2, 3, ...; give what it raised, until it meets none."""
    for point in itertools.count(1):
        fault, raised = Fault(point, error), None
        with monkeypatch.context() as patch:
            patch.setattr(files, "fault_hook", fault)
            try:
                work()
            except (DiskError, MemoryError, KeyboardInterrupt) as seen:
                raised = seen
        yield raised
        if fault.calls < point:
            return


def dead_pid() -> int:
    """The id of a process that has ended and been waited for."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_written_says_what_went_in(tmp_path):
    written = files.write_atomic(tmp_path / "x", iter([b"one ", memoryview(b"two")]))
    assert (tmp_path / "x").read_bytes() == b"one two"
    assert written.size == 7
    assert (
        written.sha256 == hashlib.sha256(b"one two").hexdigest() == files.sha256_of(tmp_path / "x")
    )


def test_the_umask_decides_who_may_read(tmp_path):
    old = os.umask(0o027)
    try:
        files.write_atomic(tmp_path / "x", b"")
    finally:
        os.umask(old)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("error", FAULTS, ids=repr)
def test_replacing_a_file_leaves_the_old_or_the_new(tmp_path, monkeypatch, error):
    path, seen = tmp_path / "x", set()
    for raised in each_point(monkeypatch, error, lambda: files.write_atomic(path, [b"new", b"er"])):
        seen.add(path.read_bytes() if path.exists() else b"none")
        assert raised is not None or path.read_bytes() == b"newer"
        assert [entry.name for entry in tmp_path.iterdir() if entry != path] == []
        path.write_bytes(b"old")
    assert seen == {b"none", b"old", b"newer"}


@pytest.mark.parametrize("error", FAULTS, ids=repr)
def test_a_line_is_added_whole_or_not_at_all(tmp_path, monkeypatch, error):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"one\n")
    for raised in each_point(monkeypatch, error, lambda: files.append_line(path, "two")):
        # Only a fault at the very last call, the closing, comes after the line is there.
        assert path.read_bytes() in ((b"one\n", b"one\ntwo\n") if raised else (b"one\ntwo\n",))
        path.write_bytes(b"one\n")


@pytest.mark.parametrize("allowed", [1, 2, 3])
def test_short_writes_are_completed(tmp_path, monkeypatch, allowed):
    monkeypatch.setattr(files, "fault_hook", lambda _operation, _path, length: min(length, allowed))
    files.write_atomic(tmp_path / "x", b"abcdefg")
    files.append_line(tmp_path / "lines", "abcdefg")
    assert (tmp_path / "x").read_bytes() == b"abcdefg"
    assert (tmp_path / "lines").read_bytes() == b"abcdefg\n"


def test_half_a_line_is_taken_back_when_the_disk_fills(tmp_path, monkeypatch):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"one\n")

    def fill(operation: str, _path: Path, length: int) -> int:
        if operation == "write" and length < 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return min(length, 2)

    monkeypatch.setattr(files, "fault_hook", fill)
    with pytest.raises(DiskError, match="4 bytes needed"):
        files.append_line(path, "two")
    assert path.read_bytes() == b"one\n"


@given(
    whole=st.lists(st.binary(max_size=9000).map(lambda line: line.replace(b"\n", b"")), max_size=3),
    torn=st.binary(max_size=9000).map(lambda line: line.replace(b"\n", b"")),
)
def test_a_torn_line_is_cut_off(tmp_path_factory, whole, torn):
    path = tmp_path_factory.mktemp("lines") / "x"
    before = b"".join(line + b"\n" for line in whole)
    path.write_bytes(before + torn)
    files.append_line(path, "é next")
    assert path.read_bytes() == before + "é next\n".encode()


def test_a_folder_appears_complete_or_not_at_all(tmp_path, monkeypatch):
    final = tmp_path / "a" / "b"

    def work() -> None:
        with files.new_folder(final, "b") as temporary:
            files.write_new(temporary / "x", b"x")

    for raised in each_point(monkeypatch, OSError(errno.EIO, "bad"), work):
        assert not final.exists() or (final / "x").read_bytes() == b"x"
        assert raised is not None or final.exists()
        assert list(tmp_path.rglob(".tmp-*")) == []
        files.remove_tree(tmp_path / "a")


def test_what_an_earlier_process_of_the_same_id_left_is_no_hindrance(tmp_path):
    left = files.temporary_name(tmp_path, "b")
    left.mkdir()
    (left / "x").write_bytes(b"stale")
    with files.new_folder(tmp_path / "b", "b") as temporary:
        files.write_new(temporary / "x", b"fresh")
    assert (tmp_path / "b" / "x").read_bytes() == b"fresh"


def test_sweep_takes_what_dead_processes_left_and_nothing_else(tmp_path):
    dead = f".tmp-{dead_pid()}-30"
    own, alive = f".tmp-{os.getpid()}-7", f".tmp-{os.getppid()}-7"
    strange = [".tmp-", ".tmp-x-1", "tmp-1-1", ".tmp-1", "step-000000001"]
    for name in (dead, own, alive, *strange):
        (tmp_path / name).mkdir()
    (tmp_path / dead / "file").write_bytes(b"half")
    assert files.sweep(tmp_path) == sorted([dead, own])
    assert {path.name for path in tmp_path.iterdir()} == {alive, *strange}
    assert files.sweep(tmp_path / "missing") == []


def test_links_are_removed_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_bytes(b"")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    files.remove_tree(inside)
    files.remove_tree(inside)
    assert not inside.exists()
    assert (outside / "keep").exists()


@pytest.mark.parametrize(
    "name",
    ["with space", "line\nbreak", "-r", "ünï 文 🙂", os.fsdecode(b"not \xff utf-8"), "a" * 250],
)
def test_odd_names_work(tmp_path, name):
    folder = tmp_path / name
    files.make_folder(folder)
    files.write_atomic(folder / name, b"x")
    files.append_line(folder / name, "y")
    assert (folder / name).read_bytes() == b"y\n"
    files.remove_tree(folder)
    assert not folder.exists()


def test_a_full_disk_tells_how_much_is_needed_and_free(tmp_path, monkeypatch):
    monkeypatch.setattr(
        files, "fault_hook", Fault(4, OSError(errno.ENOSPC, "No space left on device"))
    )
    monkeypatch.setattr(system, "free_bytes", lambda _path: 1234)
    with pytest.raises(DiskError) as caught:
        files.write_atomic(tmp_path / "x", b"a" * 5000)
    error = caught.value
    assert error.what == "cannot write x: No space left on device (5,000 bytes needed, 1,234 free)"
    assert error.where == str(tmp_path / "x")
    assert error.remedy == "free some space, or choose a folder on another disk"
    assert error.exit_code == 5
    assert system.is_full(error)


def test_a_file_in_the_way_of_a_folder_is_told(tmp_path):
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(DiskError, match="cannot make y: Not a directory"):
        files.make_folder(tmp_path / "x" / "y")
    with pytest.raises(DiskError, match="cannot make x: Not a directory") as caught:
        files.make_folder(tmp_path / "x")
    assert caught.value.remedy == "part of this path is a file: name a folder"
    with pytest.raises(DiskError, match="cannot write z: No such file or directory") as caught:
        files.write_atomic(tmp_path / "none" / "z", b"")
    assert caught.value.remedy == "make its folder first, or name another"


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_folder_without_permission_is_told(tmp_path, monkeypatch, code):
    monkeypatch.setattr(files, "fault_hook", Fault(1, OSError(code, os.strerror(code))))
    with pytest.raises(DiskError) as caught:
        files.write_atomic(tmp_path / "x", b"")
    assert caught.value.what == f"cannot write x: {os.strerror(code)}"
    assert caught.value.remedy == "choose a folder you may write to"


def test_a_disk_without_folder_sync_is_good_enough(tmp_path, monkeypatch):
    def refuse(operation: str, path: Path, length: int) -> int:
        if operation == "fsync" and path == tmp_path:
            raise OSError(errno.EINVAL, "Invalid argument")
        return length

    monkeypatch.setattr(files, "fault_hook", refuse)
    files.write_atomic(tmp_path / "x", b"x")
    assert (tmp_path / "x").read_bytes() == b"x"
