"""Brackets: tag each symbol with how many pairs it lies in, or as a bracket that is alone."""

from __future__ import annotations

from random import Random

from regard.data.example import Tagged
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


def _tagged(row: list[str]) -> Tagged:
    return Tagged(tuple(row), tuple(depths(row)))


def _draw(generator: Random) -> Tagged:
    row = nested(generator, generator.randint(1, 4), "(")
    guests = generator.choices("()", k=generator.randint(0, 2))
    guests += generator.choices("abcde", k=generator.randint(1, 5))
    for guest in guests:
        row.insert(generator.randint(0, len(row)), guest)
    return _tagged(row)


BRACKETS = Toy(
    name="brackets",
    title="how deep in brackets each symbol lies",
    story="A bracket counts only if its partner comes, on the left or on the right and maybe far "
    "away: a window of neighbours is not enough.",
    probe=_tagged(list("a(b(c)d)(e)b)")),
    draw=_draw,
)
