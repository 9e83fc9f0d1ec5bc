"""How much memory a piece of work takes, at the moment when it takes most."""

from __future__ import annotations

import resource
import sys
import threading
from types import TracebackType
from typing import final

import torch

EVERY = 0.005  # seconds between two looks


@final
class Memory:
    """While this lasts, the most bytes held: `with Memory("cuda") as memory: ...; memory.peak`.

    On a GPU the allocator itself keeps the record. On a CPU the process's own pages are looked at every few
    milliseconds; pages of mapped files do not count, because the system takes them back whenever it likes.
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        self.before = self.most = 0
        self._over = threading.Event()
        self._looking: threading.Thread | None = None

    def __enter__(self) -> Memory:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
            torch.cuda.reset_peak_memory_stats(self.device)
        self.before = self.most = self._held()
        if self.device.type != "cuda":
            self._looking = threading.Thread(target=self._look, daemon=True)
            self._looking.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._looking is not None:
            self._looking.join()
        self.most = max(self.most, self._held())
        if self.device.type == "cuda":
            self.most = torch.cuda.max_memory_allocated(self.device)

    @property
    def peak(self) -> int:
        """The most bytes held, beyond what was held before."""
        return self.most - self.before

    def _look(self) -> None:
        while not self._over.wait(EVERY):
            self.most = max(self.most, self._held())

    def _held(self) -> int:
        if self.device.type == "cuda":
            return torch.cuda.memory_allocated(self.device)
        return own_pages()


def own_pages() -> int:
    """Bytes of memory that this process holds by itself, mapped files left out."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - it is read very often
            _, resident, shared, *_ = map(int, file.read().split())
    except OSError:
        return peak_memory()
    return (resident - shared) * resource.getpagesize()


def peak_memory(device: torch.device | str = "cpu") -> int:
    """The most bytes held since the start: on a GPU by tensors, on a CPU by the process and all it maps."""
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
