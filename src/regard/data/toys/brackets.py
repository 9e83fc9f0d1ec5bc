"""Brackets: how deep each symbol lies in them, and whether every one closes the one it should."""

from __future__ import annotations

from random import Random

from regard.data.example import Labelled, Tagged
from regard.data.toys.toy import Toy

PARTNER = {"(": ")", "[": "]"}


def nested(generator: Random, pairs: int, kinds: str) -> list[str]:
    """A balanced row of brackets: at each step one more opens, or the last one open is closed."""
    row: list[str] = []
    waiting: list[str] = []
    while pairs or waiting:
        if pairs and (not waiting or generator.random() < 0.5):
            opening = generator.choice(kinds)
            row.append(opening)
            waiting.append(PARTNER[opening])
            pairs -= 1
        else:
            row.append(waiting.pop())
    return row


def depths(row: list[str]) -> list[str]:
    """Each symbol's tag: how many matched pairs it lies in, or `alone` for a bracket without one.

    A bracket lies in its own pair: `a ( b )` is 0 1 1 1.
    """
    matched: set[int] = set()
    waiting: list[int] = []
    for place, bracket in enumerate(row):
        if bracket == "(":
            waiting.append(place)
        elif bracket == ")" and waiting:
            matched |= {place, waiting.pop()}
    tags: list[str] = []
    depth = 0
    for place, bracket in enumerate(row):
        opens, closes = (place in matched and bracket == side for side in "()")
        alone = bracket in "()" and place not in matched
        depth += opens
        tags.append("alone" if alone else str(depth))
        depth -= closes
    return tags


def _nested_row(generator: Random) -> Tagged:
    row = nested(generator, generator.randint(1, 4), "(")
    guests = generator.choices("()", k=generator.randint(0, 2))
    guests += generator.choices("abcde", k=generator.randint(1, 5))
    for guest in guests:
        row.insert(generator.randint(0, len(row)), guest)
    return Tagged(tuple(row), tuple(depths(row)))


BRACKETS = Toy(
    name="brackets",
    title="how deep in brackets each symbol lies",
    story="A bracket counts only if its partner comes, on the left or on the right and maybe far "
    "away: a window of neighbours is not enough.",
    probe=Tagged(
        words=tuple("a(b(c)d)(e)b)"),
        tags=("0", "1", "1", "2", "2", "2", "1", "1", "1", "1", "1", "0", "alone"),
    ),
    draw=_nested_row,
)

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


def _maybe_broken(generator: Random) -> Labelled:
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
    draw=_maybe_broken,
)
