"""One process at a time in a run folder.

The lock is the system's own (`flock`): taken by one of any number of starters, and gone with its holder
however that ends. What the file says (process, host, boot, start) names the holder to people; where a disk
has no locks it also decides whether the holder can still be alive.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import final

from regard import strict_json
from regard.errors import ModelFileError, UsageError
from regard.run import files, system

NAME = ".lock"
_LONGEST = 4096
_PATIENCE = 3.0  # seconds for a holder that has just begun to write its name
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)


@final
@dataclass(frozen=True)
class Holder:
    """Who holds a lock, so that even a used-again process id is told apart."""

    pid: int
    host: str
    boot: str
    started: str

    @classmethod
    def here(cls) -> Holder:
        """This very process."""
        pid = os.getpid()
        return cls(pid, socket.gethostname(), system.boot_id(), system.started(pid))

    def gone(self) -> bool:
        """Whether this process has certainly ended; of another machine nothing is certain."""
        here = Holder.here()
        if self.host != here.host:
            return False
        if self.boot and here.boot and self.boot != here.boot:
            return True
        started = system.started(self.pid)
        used_again = bool(self.started and started and self.started != started)
        return used_again or not system.alive(self.pid)


@final
class Lock:
    """`with Lock(folder):` — a second process is refused with the first one's id."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._descriptor: int | None = None

    def __enter__(self) -> Lock:
        files.make_folder(self.path.parent)
        with system.disk_errors("lock", self.path):
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._take(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        _held.add(self)
        return self

    def __exit__(self, *_exception: object) -> None:
        descriptor = self._descriptor
        if descriptor is not None:
            # An empty file stays: removing it would let two starters lock two files of one name.
            with contextlib.suppress(OSError):
                files.overwrite(descriptor, self.path, b"")
            self.forget()

    def forget(self) -> None:
        """Close the file; in a forked child this leaves the lock with the parent alone."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            _held.discard(self)

    def _take(self, descriptor: int) -> None:
        deadline = time.monotonic() + _PATIENCE
        while (claimed := _claim(descriptor)) is not True:
            holder = _holder(descriptor)
            unknown = holder is None or holder.gone()
            if claimed is None and unknown:
                break
            if not unknown or time.monotonic() > deadline:
                raise _refusal(self.path, holder)
            time.sleep(0.02)
        files.overwrite(descriptor, self.path, json.dumps(asdict(Holder.here())).encode())


def _claim(descriptor: int) -> bool | None:
    """Whether the lock is now ours; None where the disk knows no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # far from the text, which others must read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as fault:
        if fault.errno in _UNSUPPORTED:
            return None
        raise
    return True


def _holder(descriptor: int) -> Holder | None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        match strict_json.loads(os.read(descriptor, _LONGEST)):
            case {"pid": int(pid), "host": str(host), "boot": str(boot), "started": str(started)}:
                return Holder(pid, host, boot, started)
    except ModelFileError:
        pass
    return None


def _refusal(path: Path, holder: Holder | None) -> UsageError:
    if holder is None:
        return UsageError(
            "another process works in this run folder", str(path), "wait until it ends"
        )
    return UsageError(
        f"process {holder.pid} on {holder.host} works in this run folder",
        str(path),
        f"wait until it ends, or stop it with `kill {holder.pid}`",
    )


_held: set[Lock] = set()


def _forget_all() -> None:
    for lock in list(_held):
        lock.forget()


if hasattr(os, "register_at_fork"):
    # A data worker that outlives a killed parent must not keep the parent's lock.
    os.register_at_fork(after_in_child=_forget_all)
