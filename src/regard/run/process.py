"""What this machine knows of a process: whether it lives, when it began, and in which boot.

A process id alone names nobody: ids are used again. Together with the boot and the moment of its start it
names one process for ever. Where the system does not tell, the answer is empty and nothing is concluded.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

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
