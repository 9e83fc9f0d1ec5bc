"""Balanced: does every bracket of a row close the one it should?"""

from __future__ import annotations

from random import Random

from regard.data.example import Labelled
from regard.data.toys.brackets import PARTNER, nested
from regard.data.toys.toy import Toy

_OTHER = {"(": "[", "[": "(", ")": "]", "]": ")"}
_TURNED = {"(": ")", ")": "(", "[": "]", "]": "["}


def is_balanced(row: list[str]) -> bool:
    """Whether each bracket closes the last one open, and none stays open."""
    waiting: list[str] = []
    for bracket in row:
        if bracket in PARTNER:
            waiting.append(PARTNER[bracket])
        elif not waiting or waiting.pop() != bracket:
            return False
    return not waiting


def _draw(generator: Random) -> Labelled:
    row = nested(generator, generator.randint(2, 7), "([")
    if generator.random() < 0.5:
        return Labelled(" ".join(row), "balanced")
    while is_balanced(row):
        _spoil(row, generator)
    return Labelled(" ".join(row), "broken")


def _spoil(row: list[str], generator: Random) -> None:
    """One small fault. The last kind keeps all counts right, so that counting does not find it."""
    place = generator.randrange(len(row) - 1)
    match generator.randrange(3):
        case 0:
            row[place] = _OTHER[row[place]]
        case 1:
            row[place] = _TURNED[row[place]]
        case _:
            row[place], row[place + 1] = row[place + 1], row[place]


BALANCED = Toy(
    name="balanced",
    title="are these brackets balanced",
    story="One wrong bracket in a row spoils it: the map shows what the model checks against what.",
    probe=Labelled("( [ ] [ ( ) ) ]", "broken"),
    draw=_draw,
)
