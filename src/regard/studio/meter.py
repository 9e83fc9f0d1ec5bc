"""What the server counts about itself, in Prometheus' text form: routes by pattern, never what was asked."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, deque
from typing import final

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
        found = [(part, delays[min(len(delays) - 1, int(part * len(delays)))]) for part in SHARES]
        return [
            "# TYPE regard_loop_delay_seconds gauge",
            *(f'regard_loop_delay_seconds{{share="{part:g}"}} {late:.6f}' for part, late in found),
        ]
