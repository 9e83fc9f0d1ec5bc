"""A polite stop: a signal only sets a flag, and every long loop asks for it."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import Any, final

_HANGUP = getattr(signal, "SIGHUP", None)  # Windows has none


class Stopped(BaseException):
    """Somebody asked us to stop while there was nothing to save."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


@final
class Stop:
    """`with Stop() as stop:` — the first SIGINT, SIGTERM or SIGHUP sets `asked`, a second ends it at once.

    A closing terminal may send SIGHUP twice, from the shell and from the system, so that one never counts as
    the second. Where SIGHUP was ignored before (`nohup`), it stays ignored.
    """

    def __init__(self) -> None:
        self.asked: int | None = None
        self._before: dict[int, Any] = {}
        self._terminals: list[int] = []

    def __enter__(self) -> Stop:
        self._terminals = [stream for stream in (1, 2) if os.isatty(stream)]
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, _HANGUP):
                if number is None or _is_ignored_hangup(number):
                    continue
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def poll(self) -> None:
        """Leave now, where nothing needs saving."""
        if self.asked is not None:
            raise Stopped(self.asked)

    def mute(self) -> bool:
        """The terminal is gone: what would be written to it goes nowhere. Whether there was one till now."""
        lost, self._terminals = self._terminals, []
        if lost:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for stream in lost:
                os.dup2(nowhere, stream)
            os.close(nowhere)
        return bool(lost)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if number == _HANGUP:
            self.mute()
        elif self.asked is not None:
            os._exit(128 + number)
        self.asked = self.asked or number


def _is_ignored_hangup(number: int) -> bool:
    return number == _HANGUP and signal.getsignal(number) is signal.SIG_IGN
