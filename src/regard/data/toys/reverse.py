"""Reverse: say it backwards."""

from __future__ import annotations

from random import Random

from regard.data.example import Pair
from regard.data.toys.copy import letters
from regard.data.toys.toy import Toy


def _draw(generator: Random) -> Pair:
    text = letters(generator)
    return Pair(text, text[::-1])


REVERSE = Toy(
    name="reverse",
    title="letters backwards",
    story="The first word needed is the last one heard: without attention it must be remembered, "
    "with attention it is looked up, along the other diagonal.",
    probe=Pair("r e g a r d", "d r a g e r"),
    draw=_draw,
)
