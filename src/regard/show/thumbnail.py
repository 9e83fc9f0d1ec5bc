"""A picture in a terminal: half blocks, two dots to a letter's place; in words where there are no colours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import UInt8
from rich.color import Color
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style

from regard.data import image
from regard.errors import RegardError
from regard.show.colour import Paint
from regard.show.label import in_ascii, one_line, shortened

HIGH = 16  # half lines that a preview may take
WIDEST = 64

Dots = UInt8[np.ndarray, "row column 3"]


@final
@dataclass(frozen=True)
class Thumbnail:
    """The picture of a path or a data URL, as it was read, and its size; or why it cannot be read."""

    origin: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        paint, width = Paint.of(console, options), options.max_width
        picture: np.ndarray | None = None
        try:
            picture = image.read(self.origin)
            caption = told(picture)
        except RegardError as fault:
            caption = f"{fault.what} ({fault.remedy})"
        if picture is not None and picture.dtype == np.uint8 and paint.has_colour:
            for line in halves(fitted(picture, min(width, WIDEST))):
                yield from line
                yield Segment.line()
        caption = shortened(one_line(caption), width)
        yield Segment(in_ascii(caption) if paint.medium == "ascii" else caption, None)
        yield Segment.line()


def told(picture: np.ndarray) -> str:
    """How large, and of what: `48 x 48 pixels in colour`."""
    rows, columns, channels = picture.shape
    if picture.dtype != np.uint8:
        return f"features: {rows} x {columns} cells of {channels} numbers"
    return f"{columns} x {rows} pixels, {'grey' if channels == 1 else 'in colour'}"


def fitted(picture: UInt8[np.ndarray, "row column channel"], width: int) -> Dots:
    """As large as a preview may be, and no larger than it is."""
    high, wide = picture.shape[:2]
    scale = min(1.0, HIGH / high, width / wide)
    small = image.resized(picture, max(1, round(high * scale)), max(1, round(wide * scale)))
    return small.repeat(3, 2) if small.shape[2] == 1 else small


def halves(dots: Dots, wide: int = 0) -> Iterator[list[Segment]]:
    """Two rows of dots a line: the upper one is the letter's colour, the lower one its background."""
    for row in range(0, len(dots), 2):
        line = []
        for column in range(dots.shape[1]):
            upper = Color.from_rgb(*map(int, dots[row, column]))
            lower = (
                Color.from_rgb(*map(int, dots[row + 1, column])) if row + 1 < len(dots) else None
            )
            line.append(Segment("▀", Style(color=upper, bgcolor=lower)))
        yield [*line, Segment(" " * (wide - dots.shape[1]))]
