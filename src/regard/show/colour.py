"""How a weight becomes a cell: a colour that grows lighter evenly, or more ink where there is no colour.

Cividis (Nuñez, Anderton and Renslow 2018) reads the same with and without colour-blindness, and brings
its own background, so that it reads the same on a dark and a light terminal.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, final

from rich.color import Color
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style

from regard.show.label import in_ascii

ANCHORS = (
    (0x00, 0x22, 0x4E),
    (0x12, 0x35, 0x70),
    (0x3B, 0x49, 0x6C),
    (0x57, 0x5D, 0x6D),
    (0x70, 0x71, 0x73),
    (0x8A, 0x86, 0x78),
    (0xA5, 0x9C, 0x74),
    (0xC3, 0xB3, 0x69),
    (0xE1, 0xCC, 0x55),
    (0xFE, 0xE8, 0x38),
)
# The nearest way from navy to yellow that the fixed 256 colours allow while each is lighter than the last.
EIGHT_BIT = (17, 18, 60, 243, 245, 247, 143, 185, 227)
BLOCKS = " ▁▂▃▄▅▆▇█"
ASCII = " .:-=+*#%@"
STEPS = 256
WHITE, BLACK = 231, 16  # of the 256 colours: no theme changes them, as it may the first sixteen
LIGHT = (0.2126, 0.7152, 0.0722)  # shares of red, green and blue in luminance

Medium = Literal["true colour", "256 colours", "blocks", "ascii"]


def cividis(share: float) -> tuple[int, int, int]:
    """The colour of a share from 0 (navy) to 1 (yellow), as red, green, blue."""
    place = min(max(share, 0.0), 1.0) * (len(ANCHORS) - 1)
    before = min(int(place), len(ANCHORS) - 2)
    part = place - before
    red, green, blue = (
        round(low + (high - low) * part)
        for low, high in zip(ANCHORS[before], ANCHORS[before + 1], strict=True)
    )
    return red, green, blue


@final
@dataclass(frozen=True)
class Paint:
    """What this console can show."""

    medium: Medium

    @classmethod
    def of(cls, console: Console, options: ConsoleOptions) -> Paint:
        """The richest medium that the console has; sixteen colours are too few to be in order."""
        if options.ascii_only:
            return cls("ascii")
        if console.no_color or console.color_system not in ("truecolor", "256"):
            return cls("blocks")
        return cls("true colour" if console.color_system == "truecolor" else "256 colours")

    @property
    def has_colour(self) -> bool:
        """Whether weights are colours; if not, nothing else is coloured either."""
        return self.medium in ("true colour", "256 colours")

    def cell(self, share: float, width: int, number: str = "") -> tuple[str, Style | None]:
        """One cell: its text and style."""
        if not math.isfinite(share):
            return "?".center(width), None
        share = min(max(share, 0.0), 1.0)
        if self.has_colour:
            return number.center(width), _style(self.medium, round(share * (STEPS - 1)))
        if number:
            return number.center(width), None
        ramp = ASCII if self.medium == "ascii" else BLOCKS
        return ramp[round(share * (len(ramp) - 1))] * width, None

    def mark(self, share: float) -> tuple[str, Style | None]:
        """One cell of a legend, set apart from the map by being half as high."""
        text, style = self.cell(share, 1)
        return (text, style) if style is None else ("▄", Style(color=style.bgcolor))


Line = list[Segment]


class Lines(ABC):
    """A picture made of lines, drawn with what a console has."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        paint = Paint.of(console, options)
        for line in self.lines(paint, options.max_width):
            for text, style, _ in line:
                yield Segment(in_ascii(text) if paint.medium == "ascii" else text, style)
            yield Segment.line()

    @abstractmethod
    def lines(self, paint: Paint, width: int) -> Iterator[Line]:
        """Line by line, none wider than the console."""


@lru_cache(maxsize=2 * STEPS)
def _style(medium: Medium, step: int) -> Style:
    share = step / (STEPS - 1)
    if medium == "true colour":
        background = Color.from_rgb(*cividis(share))
    else:
        background = Color.from_ansi(EIGHT_BIT[round(share * (len(EIGHT_BIT) - 1))])
    # Black and white stand out equally from a luminance of 0.18, and from any other one of them more.
    is_dark = _luminance(tuple(background.get_truecolor())) < 0.18
    return Style(color=Color.from_ansi(WHITE if is_dark else BLACK), bgcolor=background)


def _luminance(colour: tuple[int, ...]) -> float:
    """Relative luminance of sRGB, as WCAG measures contrast with."""
    linear = ((part / 255 + 0.055) / 1.055 for part in colour)
    return sum(share * part**2.4 for share, part in zip(LIGHT, linear, strict=True))
