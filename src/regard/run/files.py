"""The one place that writes run state to disk, one numbered step at a time.

Every system call that can fail first passes `fault_hook`. In production that does nothing; a test puts a
fault at call 1, 2, 3, ... until the work completes, and sees that what was there before is there after.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, final

from regard.run.system import alive, disk_errors

T = TypeVar("T")
Bytes = bytes | memoryview

# (operation, path, length) -> how many of the `length` bytes may be written; raises to refuse the call.
FaultHook = Callable[[str, Path, int], int]

CHUNK = 1 << 24
_NO_FOLDER_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)
_TEMPORARY = re.compile(r"\.tmp-([0-9]{1,10})-")
_BINARY = getattr(os, "O_BINARY", 0)
_serial = itertools.count()


def _no_fault(_operation: str, _path: Path, length: int) -> int:
    return length


fault_hook: FaultHook = _no_fault


@final
@dataclass(frozen=True)
class Written:
    """What went into a file: its length and its SHA-256, taken before the disk could change it."""

    size: int
    sha256: str


def write_atomic(path: Path, data: Bytes | Iterable[Bytes], needed: int | None = None) -> Written:
    """Replace a file as a whole: after a crash it is the old one or the new one, never a mixture."""
    needed = len(data) if isinstance(data, Bytes) else needed
    with disk_errors("write", path, needed), _temporary(path.parent) as temporary:
        written = _write(temporary, data)
        _call("rename", path, lambda: temporary.replace(path))
        _sync_folder(path.parent)
    return written


def write_new(path: Path, data: Bytes | Iterable[Bytes], needed: int | None = None) -> Written:
    """Write a file that is not there yet and make it durable; half a file may stay after a crash."""
    with disk_errors("write", path, needed):
        return _write(path, data)


def append_line(path: Path, text: str) -> None:
    """Add one line, whole or not at all; a line torn by an earlier kill is cut off first.

    The line survives a kill of this process at once, a power failure when the system next writes back.
    """
    assert "\n" not in text, "one line at a time"
    line = text.encode() + b"\n"
    with disk_errors("write", path, len(line)), _opened(path, os.O_RDWR | os.O_CREAT) as descriptor:
        end = _whole_lines(descriptor, path)
        try:
            _call("truncate", path, lambda: os.ftruncate(descriptor, end))
            os.lseek(descriptor, end, os.SEEK_SET)
            _write_all(descriptor, path, line)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, end)
            raise


def overwrite(descriptor: int, path: Path, data: bytes) -> None:
    """Put `data` in place of all that an open file holds; for a few bytes that need not survive a crash."""
    with disk_errors("write", path, len(data)):
        _call("truncate", path, lambda: os.ftruncate(descriptor, 0))
        os.lseek(descriptor, 0, os.SEEK_SET)
        _write_all(descriptor, path, data)


def make_folder(path: Path, needed: int | None = None) -> None:
    """Make a folder and its parents, each durable before the next; one that is there already is fine."""
    with disk_errors("make", path, needed):
        missing = list(
            itertools.takewhile(lambda folder: not folder.is_dir(), [path, *path.parents])
        )
        for folder in reversed(missing):
            with contextlib.suppress(FileExistsError):
                _call("mkdir", folder, folder.mkdir)
            if not folder.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
            _sync_folder(folder.parent)


@contextlib.contextmanager
def new_folder(final: Path, label: str, needed: int | None = None) -> Iterator[Path]:
    """A folder to fill that appears under its name complete, or not at all."""
    temporary = temporary_name(final.parent, label)
    remove_tree(temporary)  # an earlier process may have had our id: in a container it is often 1
    try:
        make_folder(temporary, needed)
        yield temporary
        publish(temporary, final, needed)
    except BaseException:
        with contextlib.suppress(OSError):
            remove_tree(temporary)
        raise


def publish(temporary: Path, final: Path, needed: int | None = None) -> None:
    """Give a finished folder its name: its entries are durable before, the name itself after."""
    with disk_errors("publish", final, needed):
        _sync_folder(temporary)
        _call("rename", final, lambda: temporary.rename(final))
        _sync_folder(final.parent)


def set_aside(path: Path) -> Path:
    """Take the name from a folder in one step, so that a kill cannot leave half of it under that name."""
    with disk_errors("remove", path), _temporary(path.parent) as aside:
        _call("rename", path, lambda: path.rename(aside))
    return aside


def remove_tree(path: Path) -> None:
    """Remove a file or a folder with all in it; links are removed, not followed; a missing one is fine."""
    with disk_errors("remove", path):
        _remove(path)


def sweep(folder: Path) -> list[str]:
    """Remove what killed processes left unfinished in a folder, and say which names went.

    For the process that holds the run's lock: what bears its own id is then from an earlier process too.
    """
    with disk_errors("list", folder):
        stale = (
            [path for path in _entries(folder) if _is_stale(path.name)] if folder.is_dir() else []
        )
    for path in stale:
        remove_tree(path)
    return [path.name for path in stale]


def temporary_name(folder: Path, label: str) -> Path:
    """Where unfinished work of this process lies, named so that `sweep` knows whose it was."""
    return folder / f".tmp-{os.getpid()}-{label}"


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, read once in pieces."""
    digest = hashlib.sha256()
    with disk_errors("read", path), _opened(path, os.O_RDONLY) as descriptor:
        while piece := _call("read", path, lambda: os.read(descriptor, CHUNK)):
            digest.update(piece)
    return digest.hexdigest()


def _call(operation: str, path: Path, action: Callable[[], T]) -> T:
    """One numbered system call; an interrupted one is made again."""
    while True:
        try:
            fault_hook(operation, path, 0)
            return action()
        except InterruptedError:
            continue


def _write(path: Path, data: Bytes | Iterable[Bytes]) -> Written:
    digest, size = hashlib.sha256(), 0
    with _opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as descriptor:
        for piece in (data,) if isinstance(data, Bytes) else data:
            digest.update(piece)
            size += _write_all(descriptor, path, piece)
        _call("fsync", path, lambda: _sync(descriptor))
    return Written(size, digest.hexdigest())


def _write_all(descriptor: int, path: Path, data: Bytes) -> int:
    view = memoryview(data).cast("B")
    while view:
        try:
            allowed = fault_hook("write", path, len(view))
            view = view[os.write(descriptor, view[:allowed]) :]
        except InterruptedError:
            continue
    return len(data)


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = _call("open", path, lambda: os.open(path, flags | _BINARY, 0o666))
    try:
        yield descriptor
        _call("close", path, lambda: None)  # network disks report late faults here
    finally:
        os.close(descriptor)


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":  # fsync alone leaves the data in the drive's cache there
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":  # folders cannot be opened there
        return
    with _opened(folder, os.O_RDONLY) as descriptor:
        try:
            _call("fsync", folder, lambda: os.fsync(descriptor))
        except OSError as fault:
            if fault.errno not in _NO_FOLDER_SYNC:  # some network disks have no such call
                raise


def _whole_lines(descriptor: int, path: Path) -> int:
    """The length of a file up to and with its last line end."""
    end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - 4096)
        os.lseek(descriptor, start, os.SEEK_SET)
        block = _call("read", path, lambda: os.read(descriptor, 4096))[: end - start]
        if (found := block.rfind(b"\n")) >= 0:
            return start + found + 1
        end = start
    return 0


def _remove(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(path.lstat().st_mode):
            _call("unlink", path, path.unlink)
            return
        for entry in _entries(path):
            _remove(entry)
        _call("rmdir", path, path.rmdir)


def _entries(folder: Path) -> list[Path]:
    return sorted(_call("list", folder, lambda: list(folder.iterdir())))


def _is_stale(name: str) -> bool:
    match = _TEMPORARY.match(name)
    return match is not None and (int(match[1]) == os.getpid() or not alive(int(match[1])))


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """A free name beside the real one; what lies there when the work fails is removed."""
    path = temporary_name(folder, str(next(_serial)))
    _remove(path)
    try:
        yield path
    except BaseException:
        with contextlib.suppress(OSError):
            _remove(path)
        raise
