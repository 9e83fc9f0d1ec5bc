"""One process or many: the same loop under `torchrun` and without."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, final

import torch
import torch.distributed as dist

from regard.errors import PortError
from regard.run.device import choose_device


@final
@dataclass(frozen=True)
class World:
    """Which of how many processes this is, and the device it works on."""

    rank: int
    size: int
    device: torch.device
    patient: Any = None  # a group of all processes whose members may wait for hours

    @property
    def is_first(self) -> bool:
        """The one process that writes files and speaks."""
        return self.rank == 0

    def total(self, values: list[float]) -> list[float]:
        """The sums over all processes."""
        if self.size == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return tensor.tolist()

    def wait(self) -> None:
        """Until all are here."""
        if self.size > 1:
            dist.barrier()

    def wait_long(self) -> None:
        """Until all are here, while one of them prepares a corpus."""
        if self.size > 1:
            dist.barrier(group=self.patient)


@contextmanager
def join(device: str = "auto") -> Iterator[World]:
    """Take our place among the processes that `torchrun` started, or be the only one."""
    size, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    chosen = choose_device(device, int(os.environ.get("LOCAL_RANK", "0")))
    if size == 1:
        yield World(0, 1, chosen)
        return
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    try:
        dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
        patient = dist.new_group(backend="gloo", timeout=timedelta(days=2))
        yield World(rank, size, chosen, patient)
    except RuntimeError as fault:
        if not isinstance(fault, dist.DistError) and "by peer" not in str(fault):
            raise
        raise PortError(
            "another process of this training is gone",
            where=f"process {rank} of {size}",
            remedy="start again: training goes on from the last checkpoint",
        ) from fault
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
