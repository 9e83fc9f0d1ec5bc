"""Other people's text in our columns: nothing in a label moves the cursor, hides, or runs backwards.

The one idea: a label is a list of letters with their accents, and no letter changes the width of
another; so the width of a line is a sum, and columns stay where they are (P3).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import final

from rich.cells import cell_len, get_character_cell_size

from regard.text.vocabulary import SPECIALS
from regard.text.words import visible

WORD_START = "▁"
CONTINUES = "·"  # before a piece that continues a word: `sleep` `·ing`
ISOLATE, END_ISOLATE = "\u2068", "\u2069"
CARRIER = "◌"  # what an accent without a letter stands on
NON_JOINER = "\u200c"  # no cell of its own, but Persian words are misspelled without it
MOST_MARKS = 3  # on one letter; a pile of accents would grow into the lines above

# Terminals disagree about what these do to widths, and few shape letters across cells anyway.
_UNSEEN = frozenset(map(chr, (0xAD, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))


def letters(text: str) -> list[str]:
    """What a person counts as letters, each with its accents; what would hide is shown by its code."""
    words = unicodedata.normalize("NFC", text).split(" ")
    shown: list[str] = []
    marks = 0
    for character in " ".join(visible(word) for word in words):
        category = unicodedata.category(character)
        if character in _UNSEEN:
            continue
        if category.startswith("M"):
            marks += 1
            shown = shown or [CARRIER]
            if marks <= MOST_MARKS:
                shown[-1] += character
            continue
        if character == NON_JOINER and shown and _joins(shown[-1][0]):
            shown[-1] += character
            continue
        marks = 0
        if get_character_cell_size(character):
            shown.append(character)
        elif category != "Cf":
            shown.extend(f"<U+{ord(character):04X}>")
    return shown


def _joins(letter: str) -> bool:
    """Whether it is joined to the next one, as Arabic letters are."""
    return unicodedata.bidirectional(letter) == "AL"


def one_line(text: str) -> str:
    """The whole text on its line, safe to print."""
    return "".join(letters(text))


def shortened(text: str, width: int, ellipsis: str = "…") -> str:
    """At most so many cells, one or more, of what `one_line` made; an ellipsis says there was more."""
    if cell_len(text) <= width:
        return text
    kept, room = "", width - 1
    for letter in letters(text):
        room -= cell_len(letter)
        if room < 0:
            break
        kept += letter
    return kept + ellipsis


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Exactly so many cells, isolated from what stands beside it if it runs from right to left."""
    spaces = " " * (width - cell_len(text))
    return spaces + isolated(text) if right else isolated(text) + spaces


def isolated(text: str) -> str:
    """Hebrew or Arabic in a line of its own, as `bdi` does on a page; other text as it is."""
    backwards = any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in text)
    return f"{ISOLATE}{text}{END_ISOLATE}" if backwards else text


def in_ascii(text: str) -> str:
    """As many cells in the plainest of letters, for a console that has no others."""
    plain = text.translate({ord("│"): "|", ord("…"): "~", ord("⋮"): ":"})
    return "".join(
        letter if letter.isascii() else "?" * get_character_cell_size(letter) for letter in plain
    )


def piece_names(pieces: Sequence[str]) -> tuple[str, ...]:
    """Pieces as words: `▁sleep` `ing` becomes `sleep` `·ing`, where words are marked at all."""
    marked = any(piece.startswith(WORD_START) and piece.strip(WORD_START) for piece in pieces)
    return tuple(_name(piece) for piece in pieces) if marked else tuple(pieces)


def _name(piece: str) -> str:
    if piece.startswith(WORD_START):
        return piece[1:] or piece
    return piece if piece in SPECIALS or piece.startswith("<0x") else CONTINUES + piece


# Where everything of a heat map goes: which label fits where, and what goes on below.
#     the               A label is read from left to right, and a thin line leads from it
#     │ cat             down to its column. Short labels need no lines, and where labels
#     │ │ sleeps        are many they stand upright.
# le  █ · ·

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
    stacked = letters(label)
    return stacked if len(stacked) <= TALLEST else [*stacked[: TALLEST - 1], "⋮"]
