"""One worker and a short queue before it: a model answers one question at a time, and nobody waits unseen.

What does not fit into the queue is refused at once. What takes too long, or is no longer wanted, really
stops: a model asks before each of its modules whether it should go on.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TypeVar, final

from starlette.requests import Request

from regard.studio.refusal import Refusal
from regard.studio.settings import Limits

T = TypeVar("T")
ROOM = 0.05  # seconds between two looks for room in the queue


class AbandonedError(Exception):
    """Nobody waits for this any more."""


_wanted: ContextVar[threading.Event | None] = ContextVar("abandoned", default=None)


def go_on() -> None:
    """Called often by work that takes long: stop if nobody waits for it."""
    abandoned = _wanted.get()
    if abandoned is not None and abandoned.is_set():
        raise AbandonedError


@final
class WorkQueue:
    """Work for the one thread that touches models; at most `limits.queue` wait while one is at it."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.inside = 0  # waiting or at work
        self.closed = False
        self._usual = 0.5  # seconds of one piece of work, smoothed
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="model")

    async def do(
        self, work: Callable[[], T], request: Request | None = None, *, patient: bool = False
    ) -> T:
        """The result; or a refusal when there is no room, no time, or no client left.

        Who is `patient` waits for room: the next sentence of a text of which some are answered already.
        """
        while patient and not self.closed and self.inside > self.limits.queue:
            await asyncio.sleep(ROOM)
        self.admit()
        abandoned = threading.Event()
        loop = asyncio.get_running_loop()
        began = time.monotonic()
        self.inside += 1
        future = loop.run_in_executor(self._worker, self._timed, work, abandoned)
        future.add_done_callback(self._leave)
        leaving = asyncio.ensure_future(_left(request))
        try:
            waits: set[asyncio.Future[object]] = {future, leaving}  # type: ignore[arg-type]
            await asyncio.wait(
                waits, timeout=self.limits.request_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if future.done():
                return future.result()
        finally:
            leaving.cancel()
            if not future.done():
                abandoned.set()
                future.cancel()
        if leaving.done() and not leaving.cancelled():
            raise Refusal(499, "the client left")
        spent = time.monotonic() - began
        what = f"this took longer than {self.limits.request_seconds:g} s ({spent:.1f} s)"
        raise Refusal(504, what, remedy="ask for a shorter text, or a smaller beam")

    async def idle(self, seconds: float) -> bool:
        """Wait until nothing is inside, at most so long."""
        until = time.monotonic() + seconds
        while self.inside and time.monotonic() < until:
            await asyncio.sleep(0.02)
        return not self.inside

    def stop(self) -> None:
        """End the worker; what has not begun is dropped."""
        self.closed = True
        self._worker.shutdown(wait=False, cancel_futures=True)

    def admit(self) -> None:
        """Nothing, while there is a place left; this costs next to nothing, so it is asked first of all."""
        if self.closed:
            raise Refusal(503, "the studio is stopping", headers={"connection": "close"})
        if self.inside > self.limits.queue:
            wait = max(1, math.ceil(self.inside * self._usual))
            raise Refusal(
                429,
                f"{self.inside} requests are waiting already",
                remedy=f"try again in {wait} s",
                headers={"retry-after": str(wait)},
            )

    def _timed(self, work: Callable[[], T], abandoned: threading.Event) -> T:
        if abandoned.is_set():
            raise AbandonedError
        token = _wanted.set(abandoned)
        began = time.monotonic()
        try:
            return work()
        finally:
            _wanted.reset(token)
            self._usual += 0.2 * (time.monotonic() - began - self._usual)

    def _leave(self, future: asyncio.Future[T]) -> None:
        self.inside -= 1
        if not future.cancelled():
            future.exception()  # heard, whether or not anybody still waits


async def _left(request: Request | None) -> None:
    """Returns when the client has gone; a request that is None never leaves."""
    if request is None:
        await _forever()
        return
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _forever() -> Awaitable[None]:
    return asyncio.get_running_loop().create_future()


# What the server counts about itself, in Prometheus' text form: routes by pattern, never what was asked.

BUCKETS = (0.005, 0.05, 0.5, 5.0, 60.0)
BEAT = 0.05  # seconds between two looks at the clock
BEATS = 1_200  # of them are kept: the last minute
SHARES = (0.5, 0.99, 1.0)


@final
class Meter:
    """Requests by route and status, how long they took, and how late the event loop is."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: Counter[float] = Counter()
        self._seconds = 0.0
        self._delays: deque[float] = deque(maxlen=BEATS)
        self._guard = threading.Lock()

    async def beat(self) -> None:
        """Whatever holds the loop up holds this up too, and by as much."""
        while True:
            began = time.monotonic()
            await asyncio.sleep(BEAT)
            self._delays.append(max(0.0, time.monotonic() - began - BEAT))

    def count(self, route: str, status: int, seconds: float) -> None:
        """One more answer."""
        with self._guard:
            self._requests[route, status] += 1
            self._seconds += seconds
            for edge in BUCKETS:
                self._buckets[edge] += seconds <= edge

    def text(self, gauges: dict[str, int]) -> str:
        """All numbers, with what stands at this moment."""
        with self._guard:
            requests, buckets = dict(self._requests), dict(self._buckets)
            seconds = self._seconds
        total = sum(requests.values())
        lines = ["# TYPE regard_requests_total counter"]
        lines += [
            f'regard_requests_total{{route="{route}",status="{status}"}} {number}'
            for (route, status), number in sorted(requests.items())
        ]
        lines.append("# TYPE regard_request_seconds histogram")
        lines += [
            f'regard_request_seconds_bucket{{le="{edge:g}"}} {buckets.get(edge, 0)}'
            for edge in BUCKETS
        ]
        lines.append(f'regard_request_seconds_bucket{{le="+Inf"}} {total}')
        lines += [
            f"regard_request_seconds_sum {seconds:.6f}",
            f"regard_request_seconds_count {total}",
        ]
        lines += self._late()
        for name, value in gauges.items():
            lines += [f"# TYPE regard_{name} gauge", f"regard_{name} {value}"]
        return "\n".join(lines) + "\n"

    def _late(self) -> list[str]:
        """How late the loop was in the last minute: half the time at most so much, and so on."""
        delays = sorted(self._delays)
        if not delays:
            return []
        quantiles = [
            (part, delays[min(len(delays) - 1, int(part * len(delays)))]) for part in SHARES
        ]
        return [
            "# TYPE regard_loop_delay_seconds gauge",
            *(
                f'regard_loop_delay_seconds{{share="{part:g}"}} {late:.6f}'
                for part, late in quantiles
            ),
        ]
