"""Batches made ready in the background, handed over in order.

The one idea: threads are enough. Making a batch is copying numbers, which lets other threads run;
and a thread cannot be killed alone, so most of the ways in which worker processes die and leave
their reader waiting do not exist. What is left, a thread that ends too early, is watched for: its
work is done again by another, and keeps its place (T17).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar, final

from regard.errors import MemoryLimitError

T = TypeVar("T")
B = TypeVar("B")

PATIENCE = 1.0  # seconds between two looks at whether the workers live
RESTARTS = 3  # for one item; the next begins anew


def prefetch(
    make: Callable[[T], B],
    work: Iterable[T],
    workers: int,
    depth: int,
    describe: Callable[[T], str] = repr,
) -> Iterator[B]:
    """`map(make, work)`, with `depth` results made ahead by `workers` threads.

    A fault of `make` or of `work` is raised where its result would have come. A thread that ends
    without one is replaced, and what it had begun is made again, so `make` must be a pure function;
    the third replacement for one item is the last, and `describe` then says which item it was. With
    no workers the caller does it all. Closing the iterator ends the workers.
    """
    if workers == 0:
        for item in work:
            yield make(item)
        return
    items, crew = iter(work), _Crew(make, workers)
    fault: Exception | None = None
    try:
        while True:
            while fault is None and len(crew.begun) <= depth:
                try:
                    crew.begin(next(items))
                except Exception as raised:  # the end of the work, or its fault: begun ones first
                    fault = raised
            if not crew.begun:
                break
            yield crew.result(describe)
    finally:
        crew.leave()
    if fault is not None and not isinstance(fault, StopIteration):
        raise fault


@final
class _Crew(Generic[T, B]):
    """Threads at work, and what they have begun, first to be handed over first."""

    def __init__(self, make: Callable[[T], B], workers: int) -> None:
        self.make, self.workers = make, workers
        self.begun: deque[tuple[T, Future[B]]] = deque()
        self._pools: list[ThreadPoolExecutor] = []
        self._hire()

    def begin(self, item: T) -> None:
        """Put one more item last in the row."""
        self.begun.append((item, self._pools[-1].submit(self.make, item)))

    def result(self, describe: Callable[[T], str]) -> B:
        """What became of the first item, waiting for it where it must."""
        for tries in range(RESTARTS + 1):
            if tries:
                self._restart()
            item, future = self.begun[0]
            if self._is_done(future):
                self.begun.popleft()
                return future.result()
        raise MemoryLimitError(
            f"a thread that prepares batches ended before its work did, {RESTARTS + 1} times",
            where=describe(item),
            remedy="is memory short? with train.workers = 0 there are no such threads; "
            "training goes on from the last checkpoint",
        )

    def leave(self) -> None:
        """End all threads; what they have not begun is not begun any more."""
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)

    def _hire(self) -> None:
        self._threads: list[threading.Thread] = []
        threads = self._threads
        self._pools.append(
            ThreadPoolExecutor(
                self.workers,
                "regard-data",
                initializer=lambda: threads.append(threading.current_thread()),
            )
        )

    def _is_done(self, future: Future[B]) -> bool:
        """Whether there is a result or a fault; False when the thread that had it is gone."""
        while not future.done():
            ready = wait([future], timeout=PATIENCE).done
            if not ready and not all(thread.is_alive() for thread in self._threads):
                return False
        fault = future.exception()
        # What is no Exception ends a thread, and would end the program as if all were well.
        return fault is None or isinstance(fault, Exception)

    def _restart(self) -> None:
        """Other threads make again what the first item and all unfinished ones come to."""
        former = list(self.begun)
        finished = [number > 0 and future.done() for number, (_, future) in enumerate(former)]
        self._pools[-1].shutdown(wait=False, cancel_futures=True)
        self._hire()
        self.begun.clear()
        for (item, future), done in zip(former, finished, strict=True):
            if done:
                self.begun.append((item, future))
            else:
                self.begin(item)
