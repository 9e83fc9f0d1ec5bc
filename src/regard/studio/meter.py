"""What the server counts about itself, in Prometheus' text form: routes by pattern, never what was asked."""

from __future__ import annotations

import threading
from collections import Counter
from typing import final

BUCKETS = (0.005, 0.05, 0.5, 5.0, 60.0)


@final
class Meter:
    """Requests by route and status, and how long they took."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: Counter[float] = Counter()
        self._seconds = 0.0
        self._guard = threading.Lock()

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
        for name, value in gauges.items():
            lines += [f"# TYPE regard_{name} gauge", f"regard_{name} {value}"]
        return "\n".join(lines) + "\n"
