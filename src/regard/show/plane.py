"""Items where they lie in the plane, and the answer as a line through them: a tour, a hull (Vinyals 2015).

plane(path)          in the terminal: items by their numbers, dots along the line
plane_figure(path)   the same as a picture
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

from rich.text import Text

from regard.errors import UsageError
from regard.models import SOURCE
from regard.show.figure import FONT, GAP, HEADS, LETTER, LINE, Box, Figure, Shape, Stroke, Words
from regard.show.label import shortened
from regard.tasks.axis import Items
from regard.traces.trace import Trace

SIDE = 420.0  # of the picture, where the items lie
EDGE = 22.0
COLUMNS, ROWS = 60, 24
Place = tuple[float, float]


@final
@dataclass(frozen=True)
class Path:
    """Points, and the order in which an answer names them; from three on, it leads back to the first."""

    points: tuple[Place, ...]
    order: tuple[int, ...]

    @classmethod
    def of(cls, trace: Trace) -> Path:
        """The answer of a pointer to items of two numbers."""
        axis = trace.axes.get(SOURCE)
        points = axis.points if isinstance(axis, Items) else ()
        if not points or any(len(point) != 2 for point in points):
            raise UsageError(
                "what was asked about does not lie in a plane",
                where="--plane",
                remedy="ask a pointer about items of two numbers, or leave --plane out",
            )
        order = tuple(int(name) for name in trace.answer.symbols)
        return cls(tuple((x, y) for x, y in points), order)

    def legs(self) -> Iterator[tuple[int, int]]:
        """From each item to the next, by their numbers."""
        yield from pairwise(self.order)
        if len(self.order) > 2:
            yield self.order[-1], self.order[0]

    @property
    def length(self) -> float:
        """Of all legs together."""
        return math.fsum(math.dist(self.points[a], self.points[b]) for a, b in self.legs())

    @property
    def note(self) -> str:
        """In words what is drawn."""
        closed = ", and back" if len(self.order) > 2 else ""
        some = f"{len(self.order)} of {len(self.points)} items{closed}"
        return f"a line through {some}: length {self.length:.4f}"

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "points": [list(point) for point in self.points],
            "order": list(self.order),
            "length": self.length,
        }

    def laid(self, wide: float, high: float) -> list[Place]:
        """Every item in a box of this size, the first number to the right and the second upwards."""
        low = [min(point[side] for point in self.points) for side in (0, 1)]
        most = max(max(p[side] for p in self.points) - low[side] for side in (0, 1)) or 1.0
        return [
            ((x - low[0]) / most * wide, high - (y - low[1]) / most * high) for x, y in self.points
        ]


def plane(path: Path) -> Text:
    """Numbers of items in their places, and dots between those that follow each other."""
    cells = [[" "] * COLUMNS for _ in range(ROWS)]
    laid = path.laid(COLUMNS - 4.0, ROWS - 1.0)
    for start, end in path.legs():
        steps = 2 * COLUMNS
        for step in range(steps + 1):
            share = step / steps
            x, y = (
                (1 - share) * a + share * b for a, b in zip(laid[start], laid[end], strict=True)
            )
            cells[round(y)][round(x)] = "·"
    for number, (x, y) in enumerate(laid):
        for offset, letter in enumerate(str(number)):
            cells[round(y)][min(COLUMNS - 1, round(x) + offset)] = letter
    return Text("\n".join("".join(row).rstrip() for row in cells))


def plane_figure(path: Path, title: str) -> Figure:
    """The items as dots with their numbers, and the way through them."""
    top = 52.0
    laid = [(GAP + EDGE + x, top + EDGE + y) for x, y in path.laid(SIDE, SIDE)]
    title = shortened(title, 60)
    shapes: list[Shape] = [Words(GAP, 22, title, weight=600), Words(GAP, 40, path.note, weight=300)]
    for first, second in path.legs():
        start, end = sorted((laid[first], laid[second]))
        shapes.append(Stroke(start, end, HEADS[0], 0.8))
    for number, (x, y) in enumerate(laid):
        label = f"{number}: {path.points[number][0]:g}, {path.points[number][1]:g}"
        shapes.append(Box(x - 3, y - 3, 6, 6, HEADS[5], label))
        shapes.append(Words(x + 6, y - 5, str(number)))
    wide = max(SIDE + 2 * (GAP + EDGE), 2 * GAP + LETTER * max(len(title), len(path.note)))
    high = max(y for _, y in laid) + EDGE + LINE
    return Figure(round(wide), round(high + FONT), title, tuple(shapes))
