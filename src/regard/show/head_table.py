"""What every head does, as a table and as a picture: layers down, heads across, one cell a head.

A cell says the head's first role, and is the lighter the more sure of itself the head is (its confidence).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style
from rich.table import Table

from regard.show.colour import Paint, cividis
from regard.show.figure import FONT, GAP, HEADS, TITLE, Box, Figure, Shape, Words
from regard.show.label import in_ascii, padded, shortened
from regard.traces.head_names import MEASURES
from regard.traces.head_roles import Head

CELL = 12  # characters
WIDE, HIGH = 96.0, 24.0
COLUMNS = ("entropy", "confidence", "distance", "previous", "next", "first", "separator")

Rows = dict[str, list[Head]]


def summary(head: Head) -> str:
    """All roles of a head in words, with their numbers."""
    notes = []
    for role in head.roles:
        relation = head.relation
        if relation is not None and role.name.startswith(relation.name + " "):
            best = f"best offset {relation.offset:+d}: {relation.baseline:.0%}"
            notes.append(f"{relation.name} {relation.direction} {relation.accuracy:.0%} ({best})")
        else:
            notes.append(f"{role.name} {role.value:.0%}")
    return ", ".join(notes)


def table(heads: Sequence[Head], title: str = "") -> Table:
    """One row a head; a dash where nothing could be counted."""
    shown = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    shown.add_column("attention")
    shown.add_column("head", justify="right")
    measured = any(head.measures.get("position") is not None for head in heads)
    columns = (*COLUMNS, "position", "content") if measured else COLUMNS
    for name in columns:
        shown.add_column(name, justify="right")
    shown.add_column("what it does")
    for head in heads:
        values = (head.measures.get(name) for name in columns)
        cells = ("-" if value is None else f"{value:.2f}" for value in values)
        shown.add_row(head.row, str(head.head), *cells, summary(head))
    return shown


def as_csv(heads: Sequence[Head]) -> str:
    """One row a head, every measure a column, its controls beside it."""
    fields = [
        name for name in heads[0].as_dict() if name not in ("roles", "counts", "random", "shuffled")
    ]
    controls = [f"{kind}_{name}" for kind in ("random", "shuffled") for name in MEASURES]
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow([*fields, "roles", *controls])
    for head in heads:
        plain = head.as_dict()
        own = [plain[name] for name in fields]
        beside = [plain[kind].get(name) for kind in ("random", "shuffled") for name in MEASURES]
        rows.writerow([*own, "; ".join(role.name for role in head.roles), *beside])
    return written.getvalue()


def _rows(heads: Sequence[Head]) -> Rows:
    rows: Rows = {}
    for head in sorted(heads, key=lambda one: (one.kind, one.layer, one.row, one.head)):
        rows.setdefault(head.row, []).append(head)
    return rows


def _label(head: Head) -> str:
    return head.roles[0].name if head.roles else "·"


@final
@dataclass(frozen=True, eq=False)
class HeadMap:
    """The picture in a terminal."""

    heads: tuple[Head, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        paint = Paint.of(console, options)
        rows = _rows(self.heads)
        margin = max(map(len, rows)) + 1
        most = max(map(len, rows.values()))
        cell = max(4, min(CELL, (options.max_width - margin) // most))
        yield Segment(" " * margin + "".join(str(n).center(cell) for n in range(most)))
        yield Segment.line()
        for row, heads in rows.items():
            yield Segment(padded(row, margin - 1, right=True) + " ")
            for head in heads:
                name = shortened(_label(head), cell - 1)
                text = in_ascii(name) if paint.medium == "ascii" else name
                style: Style | None = None
                if paint.has_colour:
                    _, style = paint.cell(head.measures.get("confidence") or 0.0, cell, "x")
                yield Segment(padded(text, cell - 1) + " ", style)
            yield Segment.line()


def picture(heads: Sequence[Head]) -> HeadMap:
    """Every head by its first role, for a terminal."""
    return HeadMap(tuple(heads))


def figure(heads: Sequence[Head], title: str = "") -> Figure:
    """The same for SVG and PNG files."""
    rows = _rows(heads)
    left = GAP + 0.62 * FONT * max(map(len, rows)) + 8
    top = TITLE + 24
    shapes: list[Shape] = [Words(GAP, TITLE - 12, title, weight=600)]
    most = max(map(len, rows.values()))
    for number in range(most):
        shapes.append(Words(left + number * WIDE + 4, top - 8, f"head {number}"))
    for line, (row, own) in enumerate(rows.items()):
        y = top + line * HIGH
        shapes.append(Words(left - 8, y + HIGH / 2 + 4.5, row, "end"))
        for number, head in enumerate(own):
            sure = head.measures.get("confidence") or 0.0
            colour = "#{:02x}{:02x}{:02x}".format(*cividis(sure))
            x = left + number * WIDE
            shapes.append(
                Box(x, y, 12, HIGH - 2, colour, f"{head.name}: {summary(head) or 'no role'}")
            )
            shapes.append(Words(x + 16, y + HIGH / 2 + 4.5, shortened(_label(head), 11)))
            shapes += _bar(head, x + 16, y + HIGH - 5)
    bottom = top + len(rows) * HIGH
    note = "square: mean of the largest weight, dark 0 to light 1"
    if any(head.measures.get("position") is not None for head in heads):
        note += "; bar: share of position (blue) and of content (orange) in the score"
    shapes.append(Words(GAP, bottom + 16, note, weight=300))
    width = max(left + most * WIDE, GAP + 0.62 * FONT * len(note)) + GAP
    kept = tuple(one for one in shapes if not isinstance(one, Words) or one.text)
    return Figure(round(width), round(bottom + 28), title, kept)


def _bar(head: Head, x: float, y: float) -> Iterator[Shape]:
    """Shares of position and of content in the score, as lengths; the rest is grey."""
    shares = [head.measures.get(name) for name in ("position", "content")]
    if shares[0] is None or shares[1] is None:
        return
    room = WIDE - 24
    position, content = min(1.0, shares[0]), min(1.0 - min(1.0, shares[0]), shares[1])
    title = f"{head.name}: position {shares[0]:.0%}, content {shares[1]:.0%}"
    yield Box(x, y, room, 3, "#dddddd", title)
    yield Box(x, y, room * position, 3, HEADS[0], title)
    yield Box(x + room * position, y, room * content, 3, HEADS[1], title)
