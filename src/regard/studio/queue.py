"""One worker and a short queue before it: a model answers one question at a time, and nobody waits unseen.

What does not fit into the queue is refused at once. What takes too long, or is no longer wanted, really
stops: a model asks before each of its modules whether it should go on.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
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
