"""A polite stop: a signal only sets a flag, and every long loop asks for it."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any, final


class Stopped(BaseException):
    """Somebody asked us to stop while there was nothing to save."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


@final
class Stop:
    """`with Stop() as stop:` — the first SIGINT or SIGTERM sets `asked`, the second ends it all at once."""

    def __init__(self) -> None:
        self.asked: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def poll(self) -> None:
        """Leave now, where nothing needs saving."""
        if self.asked is not None:
            raise Stopped(self.asked)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.asked is not None:
            os._exit(128 + number)
        self.asked = number
