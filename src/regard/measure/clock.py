"""The clock. What is compared runs in one process and in turns, so that a busy moment meets all alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
