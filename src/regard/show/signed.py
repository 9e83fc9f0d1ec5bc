"""Numbers above and below zero as colours: hidden states over time, and tables of positions (L11, L44, L46).

Navy is the most negative number, yellow the most positive, and grey is zero, on one scale that is written
beside the picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, UInt8
from rich.cells import cell_len
from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style

from regard.errors import UsageError
from regard.show.colour import Line, Lines, Paint, cividis
from regard.show.figure import FONT, GAP, LINE, TITLE, Box, Dots, Figure, Shape, Words
from regard.show.heatmap import LEGEND, TOPS
from regard.show.label import one_line, padded, shortened

LETTER = 0.62 * FONT
LONGEST = 16  # cells of a label
Numbers = Float[np.ndarray, "row column"]


def scale(values: Numbers) -> float:
    """The number that is drawn lightest, its negative darkest: a round number above all, or the largest."""
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    return max(largest, min((one for one in TOPS if one >= largest), default=1.0))


@final
@dataclass(frozen=True, eq=False)
class SignedMap(Lines):
    """In a terminal: one line a row, one cell a number; where there is no room, evenly spaced ones."""

    values: Numbers
    before: tuple[str, ...]
    behind: tuple[str, ...]
    title: str
    unit: str
    top: float

    def lines(self, paint: Paint, width: int) -> Iterator[Line]:
        sides = [
            [shortened(one_line(name), LONGEST) for name in names]
            for names in (self.before, self.behind)
        ]
        margins = [max(map(cell_len, side), default=0) for side in sides]
        count = self.values.shape[1]
        room = max(1, width - sum(margins) - 2)
        every = math.ceil(count / room)
        strong, faint = (Style(bold=True), Style(dim=True)) if paint.has_colour else (None, None)
        yield [Segment(shortened(one_line(self.title), width), strong)]
        for name, values, other in zip(sides[0], self.values, sides[1], strict=True):
            cells = (paint.cell(share, 1) for share in self._shares(values[::every]))
            line = [Segment(padded(name, margins[0], right=True) + " ")]
            line += [Segment(text, style) for text, style in cells]
            yield [*line, Segment(" " + other if other else "")]
        steps = [paint.mark(step / (LEGEND - 1)) for step in range(LEGEND)]
        legend = [Segment(f"{' ' * margins[0]} {-self.top:.3g} ")]
        yield [
            *legend,
            *(Segment(text, style) for text, style in steps),
            Segment(f" {self.top:.3g}"),
        ]
        if every > 1:
            shown = f"one {self.unit} in {every} of {count} is shown: no room"
            yield [Segment(shortened(shown, width), faint)]

    def _shares(self, values: np.ndarray) -> list[float]:
        return ((values / self.top + 1) / 2).tolist()


def signed_map(
    values: Numbers,
    before: Sequence[str],
    title: str,
    unit: str,
    behind: Sequence[str] = (),
) -> RenderableType:
    """Rows of numbers as colours, with a name before each row and perhaps another behind it."""
    _check(values, before)
    after = tuple(behind) or ("",) * len(before)
    return SignedMap(values, tuple(before), after, title, unit, scale(values))


def signed_figure(
    values: Numbers, rows: Sequence[str], title: str, note: str, across: str
) -> Figure:
    """The same as a picture: rows down, numbers across, each of them at least one dot wide."""
    _check(values, rows)
    top = scale(values)
    names = [shortened(one_line(name), LONGEST) for name in rows]
    left = GAP + LETTER * max(map(cell_len, names)) + 8
    cell = max(1.0, min(26.0, 768 / values.shape[1]))
    high = max(4.0, min(26.0, 520 / len(names)))
    wide = cell * values.shape[1]
    start = TITLE + LINE + 6
    shapes: list[Shape] = [Words(GAP, TITLE - 12, title, weight=600)]
    shapes.append(Words(GAP, TITLE - 12 + LINE, note, weight=300))
    shapes.append(Dots(left, start, wide, high * len(names), dots(values, top)))
    every = math.ceil(FONT / high)
    for number, name in list(enumerate(names))[::every]:
        shapes.append(Words(left - 8, start + (number + 0.5) * high + 4.5, name, "end"))
    bottom = start + high * len(names)
    for column in marked(values.shape[1]):
        shapes.append(Words(left + (column + 0.5) * cell, bottom + 16, str(column), "middle"))
    bottom += LINE
    shapes.append(Words(left + wide, bottom + 18, across, "end", weight=300))
    shapes += signed_legend(left, bottom + 8, top)
    width = max(left + wide + GAP, 2 * GAP + LETTER * max(len(title), len(note)))
    return Figure(round(width), round(bottom + 34), title, tuple(shapes))


def marked(count: int) -> list[int]:
    """The columns whose numbers are written below: the first, the last, and the quarters between."""
    return sorted({*range(0, count, max(1, math.ceil(count / 4))), count - 1})


def dots(values: Numbers, top: float) -> UInt8[np.ndarray, "row column 3"]:
    """One dot a number: navy is -top, yellow is top; what is not finite is grey, as zero is."""
    table = np.array([cividis(step / 255) for step in range(256)], np.uint8)
    shares = np.clip((np.nan_to_num(values) / top + 1) / 2, 0, 1)
    return table[np.rint(shares * 255).astype(np.uint8)]


def signed_legend(x: float, y: float, top: float) -> Iterator[Shape]:
    """From -top to top, in the colours of the picture."""
    steps = 24
    least = f"{-top:.3g}"
    first = x + LETTER * len(least) + 4
    yield Words(x, y + 11, least)
    for step in range(steps):
        colour = "#{:02x}{:02x}{:02x}".format(*cividis(step / (steps - 1)))
        yield Box(first + step * 5, y, 5.2, 12, colour)
    yield Words(first + steps * 5 + 6, y + 11, f"{top:.3g}")


def _check(values: Numbers, names: Sequence[str]) -> None:
    if values.ndim != 2 or len(values) != len(names) or not values.size:
        shape = " x ".join(map(str, values.shape))
        raise UsageError(
            f"a {shape} table does not fit {len(names)} rows",
            where="values",
            remedy="give one name for each row of numbers",
        )
