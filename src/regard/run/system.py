"""What the operating system says: of a file that is opened or written, and of a process.

A complaint of the disk says what could not be done, where, and what to do; of a full disk, the room
needed and free. A process id alone names nobody: ids are used again. Together with the boot and the
moment of its start it names one process for ever. Where the system does not tell, the answer is
empty and nothing is concluded.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from regard.errors import DiskError, ModelFileError, RegardError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_LOCKED_OUT = (errno.EACCES, errno.EPERM, errno.EROFS)
_REMEDIES = {
    errno.ENOENT: "make its folder first, or name another",
    errno.ENOTDIR: "part of this path is a file: name a folder",
    errno.EISDIR: "this is a folder: name a file",
}


@contextlib.contextmanager
def opened(path: Path, kind: str) -> Iterator[FileIO]:
    """A plain file, opened once: what is checked and what is then read cannot be two files."""
    # Without O_NONBLOCK a named pipe would hold us for ever.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with disk_errors("read", path):
        try:
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            raise ModelFileError(
                f"there is no {kind} {path.name}",
                str(path),
                remedy="name a run folder that `regard train` made, or `regard doctor` it",
            ) from None
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            os.close(descriptor)
            thing = "a folder" if stat.S_ISDIR(mode) else "not a plain file"
            raise ModelFileError(
                f"{path.name} is {thing}; a {kind} is needed",
                str(path),
                remedy="name a run folder as `regard train` made it",
            )
        with FileIO(descriptor, "rb") as file:
            yield file


@contextlib.contextmanager
def disk_errors(action: str, path: Path, needed: int | None = None) -> Iterator[None]:
    """Turn the system's complaint into one that says what, where and what to do."""
    try:
        yield
    except RegardError:
        raise
    except OSError as fault:
        raise _explained(fault, action, path, needed) from fault


def refuse_unwritable(path: Path, *, is_folder: bool = False) -> None:
    """Say before any work what would be said after it: that this file, or folder, cannot be written."""
    place = path.parent
    while is_folder and not os.path.lexists(place) and place != place.parent:
        place = place.parent  # it is made with its folders
    with disk_errors("write", path):
        if not stat.S_ISDIR(place.stat().st_mode):
            raise _as_told(errno.ENOTDIR, place)
        if path.is_dir() and not is_folder:
            raise _as_told(errno.EISDIR, path)
        if not os.access(place, os.W_OK):
            raise _as_told(errno.EACCES, place)


def _as_told(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))


def _explained(fault: OSError, action: str, path: Path, needed: int | None) -> DiskError:
    what = f"cannot {action} {path.name}: {fault.strerror or fault}"
    remedy = "check the disk: its system log may say more"
    if fault.errno in _FULL:
        room = [f"{needed:,} bytes needed"] if needed is not None else []
        free = free_bytes(path.parent)
        room += [f"{free:,} free"] if free is not None else []
        what = f"{what} ({', '.join(room)})" if room else what
        remedy = "free some space, or choose a folder on another disk"
    elif fault.errno in _LOCKED_OUT:
        remedy = "choose a folder you may write to"
    elif fault.errno in _REMEDIES:
        remedy = _REMEDIES[fault.errno]
    error = DiskError(what, where=str(path), remedy=remedy)
    error.errno = fault.errno
    return error


def free_bytes(path: Path) -> int | None:
    """Room left on the disk that holds `path`, where the system can tell."""
    for folder in [path, *path.parents]:
        with contextlib.suppress(OSError):
            return shutil.disk_usage(folder).free
    return None


def is_full(fault: DiskError) -> bool:
    """Whether making room could help."""
    return fault.errno in _FULL


_PROCESSES = Path("/proc")


def boot_id() -> str:
    """The name of this boot of the machine, or nothing where the system keeps none."""
    try:
        return (_PROCESSES / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def started(pid: int) -> str:
    """Clock ticks from boot to the start of a process, or nothing where the system does not say."""
    fields = _status(pid)
    return fields[19] if len(fields) > 19 else ""


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    if pid <= 0:
        return False
    if sys.platform == "win32":  # signal 0 is an event there, not a question
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return _status(pid)[:1] not in (["Z"], ["X"])


def _status(pid: int) -> list[str]:
    """The fields after the program's name, which may itself hold spaces and brackets."""
    try:
        text = (_PROCESSES / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
