"""The instruments: a clock that takes turns, the peak of memory, and what the machine can do at best."""

from __future__ import annotations

import gc
import resource
import statistics
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import final

import torch

Work = Callable[[], object]
FEWEST = 3  # rounds that are always taken, however long they last


@final
@dataclass(frozen=True)
class Timing:
    """Seconds of one call: the median, and the quartiles around it."""

    median: float
    low: float
    high: float
    rounds: int


def timed(
    works: Mapping[str, Work],
    device: torch.device | str = "cpu",
    *,
    rounds: int = 15,
    warmup: int = 2,
    seconds: float = float("inf"),
) -> dict[str, Timing]:
    """How long one call of each work takes.

    The works take turns. `warmup` rounds do not count: they compile, and fill caches. After `seconds` in all
    no further round begins, though three are always taken.
    """
    wait = _wait(torch.device(device))
    taken: dict[str, list[float]] = {name: [] for name in works}
    began, collects = time.perf_counter(), gc.isenabled()
    gc.disable()  # a collection is nobody's fault, and would be somebody's time
    try:
        for number in range(warmup + rounds):
            late = time.perf_counter() - began > seconds
            if late and number >= warmup + FEWEST:
                break
            for name, work in works.items():
                wait()
                start = time.perf_counter()
                work()
                wait()
                if number >= warmup:
                    taken[name].append(time.perf_counter() - start)
    finally:
        if collects:
            gc.enable()
    return {name: summary(found) for name, found in taken.items()}


def summary(taken: Sequence[float]) -> Timing:
    """The middle of some measurements, and the middles of their halves."""
    if len(taken) == 1:
        return Timing(taken[0], taken[0], taken[0], 1)
    low, median, high = statistics.quantiles(taken, n=4, method="inclusive")
    return Timing(median, low, high, len(taken))


def _wait(device: torch.device) -> Callable[[], None]:
    """Until the device has done all it was told; a CPU has done so when the call returns."""
    if device.type == "cuda":
        return lambda: torch.cuda.synchronize(device)
    return lambda: None


# How much memory a piece of work takes, at the moment when it takes most.

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


# What the machine can do at best: the floor under every figure, measured here and now.

SIDE = {"cpu": 1024, "cuda": 8192}
BYTES = {"cpu": 1 << 28, "cuda": 1 << 31}


def matrix_rate(
    device: torch.device | str = "cpu",
    precision: torch.dtype | None = None,
    *,
    side: int | None = None,
    rounds: int = 10,
) -> float:
    """Multiplications and additions a second in the product of two large square matrices.

    The lower quartile of several tries: what the machine does when nobody disturbs it. Without a precision,
    float32 on a CPU and bfloat16 on a GPU, as models are trained there.
    """
    device = torch.device(device)
    precision = precision or (torch.float32 if device.type == "cpu" else torch.bfloat16)
    side = side or SIDE.get(device.type, 4096)
    left = torch.randn(side, side, device=device).to(precision)
    right = torch.randn(side, side, device=device).to(precision)
    product = torch.empty_like(left)
    work = {"product": lambda: torch.matmul(left, right, out=product)}
    return 2 * side**3 / timed(work, device, rounds=rounds, warmup=3)["product"].low


def copy_rate(device: torch.device | str = "cpu", *, size: int | None = None) -> float:
    """Bytes a second that memory moves, read and written: the floor of whatever waits for weights."""
    device = torch.device(device)
    size = size or BYTES.get(device.type, 1 << 28)
    origin = torch.ones(size // 4, device=device)
    copy = torch.empty_like(origin)
    return 2 * size / timed({"copy": lambda: copy.copy_(origin)}, device, rounds=10)["copy"].low
