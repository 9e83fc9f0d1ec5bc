"""Other people's text in our columns: nothing in a label moves the cursor, hides, or runs backwards.

The one idea: a label is a list of letters with their accents, and no letter changes the width of
another; so the width of a line is a sum, and columns stay where they are (P3).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rich.cells import cell_len, get_character_cell_size

from regard.text.vocabulary import SPECIALS
from regard.text.words import visible

WORD_START = "▁"
CONTINUES = "·"  # before a piece that continues a word: `sleep` `·ing`
ISOLATE, END_ISOLATE = "\u2068", "\u2069"
CARRIER = "◌"  # what an accent without a letter stands on
MOST_MARKS = 3  # on one letter; a pile of accents would grow into the lines above

# Terminals disagree about what these do to widths, and few shape letters across cells anyway.
_UNSEEN = frozenset(map(chr, (0xAD, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))


def letters(text: str) -> list[str]:
    """What a person counts as letters, each with its accents; what would hide is shown by its code."""
    words = unicodedata.normalize("NFC", text).split(" ")
    found: list[str] = []
    marks = 0
    for character in " ".join(visible(word) for word in words):
        category = unicodedata.category(character)
        if character in _UNSEEN:
            continue
        if category.startswith("M"):
            marks += 1
            found = found or [CARRIER]
            if marks <= MOST_MARKS:
                found[-1] += character
            continue
        marks = 0
        if get_character_cell_size(character):
            found.append(character)
        elif category != "Cf":
            found.extend(f"<U+{ord(character):04X}>")
    return found


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
