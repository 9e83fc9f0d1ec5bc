"""Where a model lives, and how much room there is for it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import torch

from regard.errors import UsageError

_SYSTEM = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")
_PROCESSOR = Path("/proc/cpuinfo")


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


def need_bfloat16(device: torch.device, where: str) -> None:
    """Refuse bfloat16 on a processor that would end the program at the first product."""
    if device.type == "cpu" and not has_bfloat16():
        raise UsageError(
            "this processor announces bfloat16 instructions (AMX) that end any program using them",
            where,
            "use float32, or start with ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 in the environment",
        )


@cache
def has_bfloat16() -> bool:
    """Whether bfloat16 products work on this CPU: some virtual machines announce AMX, and then SIGILL comes.

    Only a process of its own can try what may end the process; a CPU without AMX need not be tried.
    """
    try:
        announced = "amx_bf16" in _PROCESSOR.read_text("utf-8", "replace")
    except OSError:
        announced = False
    if not announced:
        return True
    program = "import torch; x = torch.ones(64, 64, dtype=torch.bfloat16); x @ x"
    tried = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)  # noqa: S603
    return tried.returncode >= 0


def free_memory(device: torch.device) -> int | None:
    """Bytes that can still be had there, or None where the system does not tell."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    known = []
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in _SYSTEM.read_text("ascii").split("\n"):
            if line.startswith("MemAvailable:"):
                known.append(int(line.split()[1]) * 1024)
    with contextlib.suppress(OSError, ValueError):  # a container may be allowed less
        limit = (_GROUP / "memory.max").read_text("ascii").strip()
        if limit != "max":
            used = int((_GROUP / "memory.current").read_text("ascii"))
            known.append(max(0, int(limit) - used))
    return min(known, default=None)


def is_out_of_memory(fault: BaseException) -> bool:
    """Whether torch or Python says that memory ran out, each in its own way."""
    if isinstance(fault, (torch.OutOfMemoryError, MemoryError)):
        return True
    return "can't allocate memory" in str(fault) or "not enough memory" in str(fault)
