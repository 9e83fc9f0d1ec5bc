"""Batches made ready in the background, handed over in order.

The one idea: threads are enough. Making a batch is copying numbers, which lets other threads run;
and a thread cannot be killed alone, so most of the ways in which worker processes die and leave
their reader waiting do not exist. What is left, a thread that ends too early, is watched for (T17).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from regard.errors import RegardError

T = TypeVar("T")
B = TypeVar("B")

PATIENCE = 1.0  # seconds between two looks at whether the workers live


def prefetch(make: Callable[[T], B], work: Iterable[T], workers: int, depth: int) -> Iterator[B]:
    """`map(make, work)`, with `depth` results made ahead by `workers` threads.

    A fault of `make` or of `work` is raised where its result would have come. With no workers the
    caller does it all. Closing the iterator ends the workers.
    """
    if workers == 0:
        for item in work:
            yield make(item)
        return
    threads: list[threading.Thread] = []
    pool = ThreadPoolExecutor(
        workers, "regard-data", initializer=lambda: threads.append(threading.current_thread())
    )
    items, pending = iter(work), deque[Future[B]]()
    fault: Exception | None = None
    try:
        while True:
            while fault is None and len(pending) <= depth:
                try:
                    pending.append(pool.submit(make, next(items)))
                except Exception as raised:  # the end of the work, or its fault: pending ones first
                    fault = raised
            if not pending:
                break
            yield _result(pending.popleft(), threads)
    finally:
        pool.shutdown(cancel_futures=True)
    if fault is not None and not isinstance(fault, StopIteration):
        raise fault


def _result(future: Future[B], threads: list[threading.Thread]) -> B:
    while not future.done():
        ready = wait([future], timeout=PATIENCE).done
        if not ready and not all(thread.is_alive() for thread in threads):
            raise _death()
    try:
        return future.result()
    except SystemExit as fault:  # else it would end the program as if all were well
        raise _death() from fault


def _death() -> RegardError:
    return RegardError(
        "a thread that prepares batches ended before its work did",
        where="data loader",
        remedy="start again: training goes on from the last checkpoint; with 0 workers there are "
        "no such threads",
    )
