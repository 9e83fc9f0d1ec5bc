"""Figures as rows of named values, which print as a Markdown table and as JSON.

A value knows what it is, and so how it looks: `Seconds`, `Ratio`, `Share`, a count, a number, a word.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, TypeAlias, final

NOTE = 79  # letters of a line of a note, which a terminal would break within a word

Cell: TypeAlias = str | float | int | None


@final
class Seconds(float):
    """A time, shown in the unit that suits it: `1.25 ms`."""

    def __str__(self) -> str:
        for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if self >= size:
                return f"{_three(self / size)} {unit}"
        return f"{_three(self * 1e9)} ns"


@final
class Bytes(int):
    """A size, in the unit that suits it: `1.50 GiB`."""

    def __str__(self) -> str:
        for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
            if abs(self) >= 1 << power:
                return f"{_three(self / (1 << power))} {unit}"
        return f"{int(self)} B"


@final
class Ratio(float):
    """How many times: `1.50x`."""

    def __str__(self) -> str:
        return f"{float(self):.2f}x"


@final
class Share(float):
    """A part of a whole: `36.2%`."""

    def __str__(self) -> str:
        return f"{float(self):.1%}"


@final
@dataclass(frozen=True)
class Table:
    """Rows that have the same columns, under a title; `note` says what a reader must know to trust them.

    `upward` is what a picture of it has upward; a table without one has no picture.
    """

    title: str
    rows: Sequence[Mapping[str, Cell]]
    note: str = ""
    upward: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that some row has, in the order of first mention."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))

    def __str__(self) -> str:
        """Markdown, lined up so that it reads well as it stands."""
        cells = [[_shown(row.get(name)) for name in self.columns] for row in self.rows]
        numeric = [
            all(not isinstance(row.get(name), str) for row in self.rows) for name in self.columns
        ]
        widths = [max(map(len, column)) for column in zip(self.columns, *cells, strict=True)]
        rule = [
            "-" * (width + 1) + (":" if number else "-")
            for width, number in zip(widths, numeric, strict=True)
        ]
        lines = [_line(row, widths, numeric) for row in [self.columns, *cells]]
        lines.insert(1, "|" + "|".join(rule) + "|")
        note = ["", *wrap(self.note, NOTE)] if self.note else []
        return "\n".join([f"### {self.title}", "", *lines, *note, ""])

    def as_dict(self) -> dict[str, Any]:
        """For JSON, where a number that is not finite is null."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [{name: _plain(row.get(name)) for name in self.columns} for row in self.rows],
            "note": self.note,
        }


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    placed = (
        cell.rjust(width) if number else cell.ljust(width)
        for cell, width, number in zip(cells, widths, numeric, strict=True)
    )
    return "| " + " | ".join(placed) + " |"


def _shown(value: Cell) -> str:
    match value:
        case None:
            return "-"
        case float() if not math.isfinite(value):
            return "-"
        case str() | Seconds() | Bytes() | Ratio() | Share():
            return str(value)
        case int():
            return f"{value:,}"
        case float():
            return _three(value)


def _three(value: float) -> str:
    """Three figures, as many as a measurement is worth: `0.0123`, `1.23`, `123`, `12,300`."""
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{round(value, digits):,.{max(0, digits)}f}"


def _plain(value: Cell) -> Cell:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
