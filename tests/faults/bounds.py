"""What a loader costs: CPU time and peak memory in a child process, for the worst files of two sizes.

A file of `SMALL` bytes and one of four times as many are loaded. Where time grows with the size, the second
takes four times as long; where it grows with the square, sixteen times. The bounds below lie between, so that
neither a busy machine nor a slow one decides.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from regard.errors import RegardError

SMALL, LARGE = 1 << 16, 1 << 18  # bytes
STEEPEST = 8.0  # times as long for four times the size
NOISE = 0.03  # seconds that two measurements may differ by without meaning anything
PER_BYTE = 25e-6  # seconds of CPU time that a byte of the file may cost
START = 0.5  # seconds that any loader may take
MEMORY = 64  # bytes of memory for a byte of the file
FREE = 24 << 20  # bytes of memory that any loader may take
TRIES = 4

Load = Callable[[Path], object]


@dataclass(frozen=True)
class Cost:
    """What one load took, and how it ended."""

    size: int  # bytes of the file, or of all files
    seconds: float
    memory: int
    outcome: str


def cost(load: Load, path: Path) -> Cost:
    """Load once in a child process that has to end by itself, whatever is in the file."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        os.close(reading)
        _in_child(load, path, writing)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    size = sum(one.stat().st_size for one in (path.rglob("*") if path.is_dir() else (path,)))
    if not text:
        return Cost(size, 1e9, 1 << 60, f"ended with {os.waitstatus_to_exitcode(status)}")
    return Cost(size, *json.loads(text))


def _in_child(load: Load, path: Path, writing: int) -> None:
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        gc.disable()  # it would touch, and so copy, all that the parent holds
        before, start = _peak(), time.process_time()
        outcome = "loaded"
        try:
            load(path)
        except RegardError as refused:
            outcome = f"refused: {refused.what[:200]}"
        except BaseException as fault:
            outcome = f"fault: {fault!r:.300}"
        found = (time.process_time() - start, _peak() - before, outcome)
        os.write(writing, json.dumps(found).encode())
    finally:
        os._exit(0)


def _peak() -> int:
    """The most bytes that this process has held so far; a child begins with what its parent holds."""
    return int(next(line for line in _status() if line.startswith("VmHWM")).split()[1]) << 10


def _status() -> list[str]:
    return Path("/proc/self/status").read_text("ascii").splitlines()


def complaint(load: Load, small: Path, large: Path, memory: int = MEMORY) -> str:
    """What is wrong with the cost of a loader, or nothing. Time is taken again where it seems wrong."""
    first, second = cost(load, small), cost(load, large)
    for found in (first, second):
        if found.outcome.startswith(("fault", "ended")):
            return f"{found.size:,} bytes: {found.outcome}"
        if found.memory > FREE + memory * found.size:
            return f"{found.size:,} bytes took {found.memory:,} bytes of memory ({found.outcome})"
    quick, slow = first.seconds, second.seconds
    for _ in range(TRIES):
        if not (wrong := _too_slow(quick, slow, first.size, second.size)):
            return ""
        quick, slow = (min(quick, cost(load, small).seconds), min(slow, cost(load, large).seconds))
    return f"{wrong} ({second.outcome})"


def _too_slow(quick: float, slow: float, small: int, large: int) -> str:
    if slow > STEEPEST / 4 * large / small * quick + NOISE:
        return f"{small:,} bytes took {quick:.3f} s and {large:,} bytes {slow:.3f} s"
    if slow > PER_BYTE * large + START:
        return f"{large:,} bytes took {slow:.3f} s"
    return ""
