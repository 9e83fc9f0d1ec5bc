"""Where a model lives, and how much room there is for it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import torch

from regard.errors import UsageError

_SYSTEM = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def choose_device(name: str = "auto", local: int = 0) -> torch.device:
    """The GPU of this process if there is one, else the CPU; or what the name says."""
    if name == "auto":
        return torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise UsageError(
            f"no device '{name}'",
            where=f'device="{name}"',
            remedy="auto, cpu, cuda, or cuda:0",
        ) from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError(
            "no CUDA device was found",
            where=f'device="{name}"',
            remedy="use cpu, or `regard doctor`",
        )
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", local)
    return device


def need_gpu(name: str, where: str) -> None:
    """Refuse what is made for a GPU where none would be used."""
    if choose_device(name).type != "cuda":
        what = "this is for a GPU, and the work would be a CPU's"
        raise UsageError(what, where, "leave it out, or ask `regard doctor` why there is no GPU")


def free_memory(device: torch.device) -> int | None:
    """Bytes that can still be had there, or None where the system does not tell."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    known = [room for room in (_system_room(), _group_room()) if room is not None]
    return min(known, default=None)


def is_out_of_memory(fault: BaseException) -> bool:
    """Whether torch or Python says that memory ran out, each in its own way."""
    if isinstance(fault, (torch.OutOfMemoryError, MemoryError)):
        return True
    return "can't allocate memory" in str(fault) or "not enough memory" in str(fault)


def _system_room() -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in _SYSTEM.read_text("ascii").split("\n"):
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _group_room() -> int | None:
    """A container may be allowed less than the machine has."""
    with contextlib.suppress(OSError, ValueError):
        limit = (_GROUP / "memory.max").read_text("ascii").strip()
        if limit != "max":
            used = int((_GROUP / "memory.current").read_text("ascii"))
            return max(0, int(limit) - used)
    return None
