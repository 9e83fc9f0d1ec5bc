"""Lines of JSON that another process writes: read whole, believed only where they are what they should be."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, final

CHUNK = 1 << 20


def parsed(line: bytes) -> dict[str, Any] | None:
    """The object of one line, numbers that JSON has no word for as null; None for anything else."""
    try:
        entry = json.loads(line, parse_constant=lambda _name: None, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All whole lines of a file that may still be growing."""
    try:
        *whole, _torn = path.read_bytes().split(b"\n")
    except OSError:
        return []
    return [entry for line in whole if (entry := parsed(line)) is not None]


def first_line(path: Path) -> dict[str, Any]:
    """The first entry of a file that may be long; nothing where there is none."""
    try:
        with path.open("rb") as file:
            return parsed(file.readline(CHUNK)) or {}
    except OSError:
        return {}


@final
class Tail:
    """New lines of a file that somebody else appends to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = self._size()

    def lines(self) -> list[dict[str, Any]]:
        """Whole lines that came since the last time; a file that shrank was begun anew."""
        size = self._size()
        if size < self._read:
            self._read = 0
        if size == self._read:
            return []
        with self.path.open("rb") as file:
            file.seek(self._read)
            text = file.read(CHUNK)
        whole, newline, _torn = text.rpartition(b"\n")
        self._read += len(whole) + len(newline)
        return [entry for line in whole.split(b"\n") if (entry := parsed(line)) is not None]

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None
