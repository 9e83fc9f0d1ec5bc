"""Where everything of a heat map goes: which label fits where, and what goes on below.

    the               A label is read from left to right, and a thin line leads from it
    │ cat             down to its column. Short labels need no lines, and where labels
    │ │ sleeps        are many they stand upright.
le  █ · ·
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import final

from rich.cells import cell_len

from regard.show.label import isolated, letters, one_line, padded, shortened

SQUARE, NARROW, NUMBERED = 2, 1, 6  # cells a weight is wide
LEVEL = 3  # labels up to this wide lie side by side over wider squares
MOST_STAIRS = 16  # lines of labels that lie
TALLEST = 12  # letters of a label that stands upright
LONGEST = 24  # cells of a row's label
LEGIBLE = 8  # cells of a column's label that must be seen

Part = tuple[str, bool]  # text, and whether it is only a line that leads to a column


@final
@dataclass(frozen=True)
class Frame:
    """Names that fit a width, and the columns that stand side by side in it."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    width: int
    margin: int
    cell: int

    @classmethod
    def fitting(
        cls, rows: tuple[str, ...], columns: tuple[str, ...], width: int, numbers: bool
    ) -> Frame:
        """Squares if all columns fit so, narrower ones if that helps, else as many as there is room for."""
        most = max(1, min(LONGEST, width // 3))
        names = tuple(shortened(one_line(name), most) for name in rows)
        margin = max(map(cell_len, names), default=0) + 1
        labels = tuple(map(one_line, columns))
        longest = max(map(cell_len, labels), default=0)
        level = max(SQUARE, longest + 1) if longest <= LEVEL else SQUARE
        room, count = width - margin, len(columns)
        widest = max((cell_len(one) for label in labels for one in letters(label)), default=1)
        for cell in (NUMBERED if numbers else level, level, SQUARE):
            if cell * count <= room:
                return cls(names, labels, width, margin, cell)
        fits_narrow = room < SQUARE or (widest == 1 and count <= room)
        return cls(names, labels, width, margin, NARROW if fits_narrow else SQUARE)

    @property
    def has_numbers(self) -> bool:
        """Whether there is room for a number in each cell."""
        return self.cell == NUMBERED

    @property
    def bands(self) -> tuple[range, ...]:
        """The columns, as many at a time as stand side by side."""
        count, most = len(self.columns), max(1, (self.width - self.margin) // self.cell)
        return tuple(range(start, min(start + most, count)) for start in range(0, count, most))

    def heading(self, band: range) -> Iterator[list[Part]]:
        """The labels of these columns, line by line."""
        labels = [
            shortened(self.columns[column], max(LEGIBLE, self.width - self._start(place)))
            for place, column in enumerate(band)
        ]
        levels = self._levels(labels)
        ends = [self._start(place) + cell_len(label) for place, label in enumerate(labels)]
        if self.cell > NARROW and max(levels) < MOST_STAIRS and max(ends) <= self.width:
            yield from self._stairs(labels, levels)
        else:
            yield from self._upright([self.columns[column] for column in band])

    def _start(self, place: int) -> int:
        """Where the label of a column begins: over its square, or over the number in it."""
        return self.margin + place * self.cell + self.has_numbers

    def _levels(self, labels: list[str]) -> list[int]:
        """How high each label must hang, so that no line of a later column runs through it."""
        levels = [0] * len(labels)
        for place in reversed(range(len(labels))):
            crossed = range(place + 1, len(labels))
            end = self._start(place) + cell_len(labels[place])
            below = (levels[other] for other in crossed if self._start(other) <= end)
            levels[place] = max(below, default=-1) + 1
        return levels

    def _stairs(self, labels: list[str], levels: list[int]) -> Iterator[list[Part]]:
        for level in reversed(range(max(levels) + 1)):
            parts: list[Part] = []
            end = 0
            for place, label in enumerate(labels):
                if levels[place] < level:
                    continue
                text = label if levels[place] == level else "│"
                parts += [(" " * (self._start(place) - end), False), (isolated(text), text == "│")]
                end = self._start(place) + cell_len(text)
            yield parts

    def _upright(self, labels: list[str]) -> Iterator[list[Part]]:
        stacks = [_stack(label) for label in labels]
        height = max(map(len, stacks))
        stacks = [[""] * (height - len(stack)) + stack for stack in stacks]
        for line in zip_longest(*stacks):
            fitted = (letter if cell_len(letter) <= self.cell else "…" for letter in line)
            yield [self._indent(), *((padded(letter, self.cell), False) for letter in fitted)]

    def _indent(self) -> Part:
        return " " * self.margin, False


def _stack(label: str) -> list[str]:
    found = letters(label)
    return found if len(found) <= TALLEST else [*found[: TALLEST - 1], "⋮"]
