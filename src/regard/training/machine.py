"""What this machine has to offer: processors, memory, disk, versions, and whether half precision pays."""

from __future__ import annotations

import os
import platform
import shutil
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, final

import torch

from regard import __version__
from regard.run.device import free_memory, has_bfloat16

SIDE = 512  # of the matrices that are multiplied to compare precisions
GIGABYTE = 1 << 30


@final
@dataclass(frozen=True)
class Gpu:
    """One accelerator."""

    name: str
    memory: int
    memory_free: int


@final
@dataclass(frozen=True)
class Machine:
    """Sizes are in bytes; `bfloat16` is its speed in matrix products over float32's, 0 where it fails."""

    system: str
    processor: str
    cores: int
    threads: int
    memory: int
    memory_free: int
    disk_free: int
    gpus: tuple[Gpu, ...]
    versions: dict[str, str]
    bfloat16: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def facts(self) -> list[tuple[str, str]]:
        """Name and value, for people."""
        facts = [
            ("system", self.system),
            ("processor", f"{self.processor}, {self.cores} cores, threads: {self.threads}"),
            ("memory", f"{_size(self.memory_free)} free of {_size(self.memory)}"),
            ("disk", f"{_size(self.disk_free)} free"),
        ]
        for number, gpu in enumerate(self.gpus):
            free = f"{_size(gpu.memory_free)} free of {_size(gpu.memory)}"
            facts.append((f"GPU {number}", f"{gpu.name}, {free}"))
        if self.bfloat16 > 0:
            pays = "try train.precision=bfloat16" if self.bfloat16 > 1.2 else "stay with float32"
            speed = f"{self.bfloat16:.1f} times the speed of float32 in matrix products: {pays}"
        else:
            speed = "does not work here, though the processor announces it: stay with float32"
        return [
            *facts,
            *([] if self.gpus else [("GPU", "none")]),
            ("versions", ", ".join(f"{name} {number}" for name, number in self.versions.items())),
            ("bfloat16", speed),
        ]


def this_machine(device: torch.device, folder: Path) -> Machine:
    """What is here now, with the disk that holds this folder."""
    return Machine(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processor=processor_name(),
        cores=_cores(),
        threads=torch.get_num_threads(),
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        memory_free=free_memory(torch.device("cpu")) or 0,
        disk_free=shutil.disk_usage(folder).free,
        gpus=tuple(map(_gpu, range(torch.cuda.device_count()))),
        versions={
            "regard": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "tokenizers", "numpy")},
        },
        bfloat16=_speed_of_bfloat16(device),
    )


def _speed_of_bfloat16(device: torch.device) -> float:
    if device.type == "cpu" and not has_bfloat16():
        return 0.0
    return _seconds(torch.float32, device) / _seconds(torch.bfloat16, device)


def processor_name() -> str:
    """Its name as people know it; Python's own answer is often empty on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").split("\n")
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _cores() -> int:
    """Those we may use, which in a container are fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _gpu(number: int) -> Gpu:
    free, total = torch.cuda.mem_get_info(number)
    return Gpu(torch.cuda.get_device_name(number), total, free)


def _seconds(precision: torch.dtype, device: torch.device) -> float:
    """The least of several tries: the one that was disturbed least."""
    matrix = torch.ones(SIDE, SIDE, dtype=precision, device=device)
    best = float("inf")
    for _ in range(6):
        began = time.perf_counter()
        product = matrix @ matrix
        product[0, 0].item()  # wait until it is there
        best = min(best, time.perf_counter() - began)
    return best


def _size(count: int) -> str:
    return f"{count / GIGABYTE:,.1f} GiB"
