"""Numbers against numbers: several curves over one axis, and points in a plane, each group in its colour."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from regard.errors import UsageError
from regard.show.figure import (
    FONT,
    GAP,
    HEADS,
    LINE,
    TITLE,
    Box,
    Figure,
    Length,
    Shape,
    Stroke,
    Words,
)
from regard.show.label import one_line, shortened

WIDE, HIGH = 560.0, 320.0
GREY = "#dddddd"
DOT = 7.0
TICKS = 6
LETTER = 0.62 * FONT

Points = Sequence[tuple[Length, Length] | list[Length]]


@final
@dataclass(frozen=True)
class Dot:
    """A point of a map: where it is, the group that gives its colour, a label, and what it says."""

    x: Length
    y: Length
    group: int
    label: str = ""
    told: str = ""


def curves(lines: Mapping[str, Points], title: str, across: str, upward: str) -> Figure:
    """Each line in its colour, named below; both axes have round numbers."""
    drawn = {
        name: sorted((x, y) for x, y in points if math.isfinite(y))
        for name, points in lines.items()
    }
    every = [one for points in drawn.values() for one in points]
    if not every:
        raise UsageError("there is nothing to draw", "curves", "give a line with a point in it")
    plane = _Plane.of([x for x, _ in every], [y for _, y in every])
    shapes = [Words(GAP, TITLE - 12, title, weight=600), *plane.frame()]
    shapes.append(Words(GAP, plane.top - 10, upward, weight=300))
    shapes.append(Words(plane.left + WIDE, plane.bottom + 34, across, "end", weight=300))
    y = plane.bottom + 34 + LINE
    for number, (name, points) in enumerate(drawn.items()):
        colour = HEADS[number % len(HEADS)]
        placed = [plane.at(*one) for one in points]
        shapes += [Stroke(one, other, colour, 0.9) for one, other in pairwise(placed)]
        shapes += [
            Box(x - 3, at - 3, 6, 6, colour, f"{name}: {across} {one[0]:g}, {upward} {one[1]:.4g}")
            for (x, at), one in zip(placed, points, strict=True)
        ]
        shapes.append(Box(GAP, y - 9, 10, 10, colour))
        shapes.append(Words(GAP + 16, y, name))
        y += LINE
    width = max(plane.left + WIDE + 2 * GAP, *(30 + LETTER * len(name) for name in drawn))
    return Figure(round(width), round(y), title, tuple(shapes))


def scatter(dots: Sequence[Dot], title: str, groups: Sequence[str], note: str = "") -> Figure:
    """Every dot in the colour of its group, with its label beside it; both axes have one scale."""
    if not dots:
        raise UsageError("there is nothing to draw", "scatter", "give a point")
    xs, ys = [one.x for one in dots], [one.y for one in dots]
    reach = max(max(xs) - min(xs), (max(ys) - min(ys)) * WIDE / HIGH, 1e-9) * 1.1
    plane = _Plane(
        (min(xs) + max(xs) - reach) / 2,
        (min(xs) + max(xs) + reach) / 2,
        (min(ys) + max(ys) - reach * HIGH / WIDE) / 2,
        (min(ys) + max(ys) + reach * HIGH / WIDE) / 2,
    )
    shapes: list[Shape] = [Words(GAP, TITLE - 12, title, weight=600)]
    shapes.append(Box(plane.left, plane.top, WIDE, HIGH, "#f6f6f6"))
    for dot in dots:
        x, y = plane.at(dot.x, dot.y)
        colour = HEADS[dot.group % len(HEADS)]
        shapes.append(Box(x - DOT / 2, y - DOT / 2, DOT, DOT, colour, one_line(dot.told)))
        if dot.label:
            shapes.append(Words(x + DOT, y + 4.5, shortened(one_line(dot.label), 18)))
    y = plane.bottom + 20
    for number, name in enumerate(groups):
        shapes.append(Box(GAP, y - 9, 10, 10, HEADS[number % len(HEADS)]))
        shapes.append(Words(GAP + 16, y, shortened(one_line(name), 80)))
        y += LINE
    if note:
        shapes.append(Words(GAP, y, note, weight=300))
        y += LINE
    width = max(plane.left + WIDE + 8 * GAP, GAP * 2 + LETTER * len(note))
    return Figure(round(width), round(y), title, tuple(shapes))


@final
@dataclass(frozen=True)
class _Plane:
    """The numbers at the edges of the drawing."""

    west: Length
    east: Length
    south: Length
    north: Length
    left: float = 64.0
    top: float = TITLE + 26

    @classmethod
    def of(cls, xs: Sequence[Length], ys: Sequence[Length]) -> _Plane:
        """As large as the numbers, and a little more upward and downward."""
        sides = [(min(some), max(some)) for some in (xs, ys)]
        room = (sides[1][1] - sides[1][0]) * 0.05 or max(abs(sides[1][0]) * 0.05, 1e-6)
        east = sides[0][1] if sides[0][1] > sides[0][0] else sides[0][0] + 1
        return cls(sides[0][0], east, sides[1][0] - room, sides[1][1] + room)

    @property
    def bottom(self) -> float:
        """Where the horizontal axis is."""
        return self.top + HIGH

    def at(self, x: Length, y: Length) -> tuple[float, float]:
        """Where a point goes."""
        across = (x - self.west) / (self.east - self.west)
        upward = (y - self.south) / (self.north - self.south)
        return self.left + across * WIDE, self.bottom - upward * HIGH

    def frame(self) -> Iterator[Shape]:
        """Grey lines at round numbers, and the numbers."""
        for value in ticks(self.south, self.north):
            y = self.at(self.west, value)[1]
            yield Box(self.left, y, WIDE, 1, GREY)
            yield Words(self.left - 8, y + 4.5, f"{value:g}", "end")
        for value in ticks(self.west, self.east):
            x = self.at(value, self.south)[0]
            yield Box(x, self.top, 1, HIGH, GREY)
            yield Words(x + 6, self.bottom + 16, f"{value:g}", "end")


def ticks(low: Length, high: Length) -> list[Length]:
    """Some round numbers between two: 1, 2 or 5 times a power of ten apart."""
    if not high > low:
        return [low]
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]
