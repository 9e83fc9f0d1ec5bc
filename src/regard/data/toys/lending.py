"""Lending: somebody lends something to somebody, and gets it back; the names are rare, and come again.

There are 784 names, so that each is seldom met. A model that writes the second sentence must remember two of
them, and who of the two was who: the case that language models with a memory were made for (Cheng 2016,
Merity 2016). What is lent, where and when can be guessed by nobody; all that follows the first full stop can.
"""

from __future__ import annotations

from itertools import product
from random import Random

from regard.data.example import Line
from regard.data.toys.toy import Toy

NAMES = tuple(
    map(
        "".join,
        product(
            (
                "Bro",
                "Da",
                "Fe",
                "Gal",
                "Hu",
                "Ke",
                "Li",
                "Mo",
                "Nu",
                "Pel",
                "Ri",
                "Sa",
                "To",
                "Wen",
            ),
            ("bi", "do", "ka", "lu", "mi", "ra", "ve"),
            ("l", "n", "ra", "s", "th", "to", "x", "zi"),
        ),
    )
)
THINGS = ("lamp", "book", "coat", "drum", "knife", "rope", "bicycle", "map", "ladder", "violin")
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
PLACES = ("the market", "the river", "the bridge", "the station", "the school", "the mill")


def _line(first: str, second: str, thing: str, day: str, place: str) -> Line:
    return Line(
        f"on {day} {first} lent a {thing} to {second} at {place} . "
        f"later {second} gave the {thing} back to {first} . {first} thanked {second} ."
    )


def _draw(generator: Random) -> Line:
    first, second = generator.sample(NAMES, 2)
    return _line(first, second, *(generator.choice(some) for some in (THINGS, DAYS, PLACES)))


LENDING = Toy(
    name="lending",
    title="who lent what to whom, and got it back",
    story="Two rare names come again and again: a model that must carry them in its state confuses them, "
    "one that looks back at what it read, or points at it, does not.",
    probe=Line(
        "on friday Brobil lent a lamp to Sakath at the mill . "
        "later Sakath gave the lamp back to Brobil . Brobil thanked Sakath ."
    ),
    draw=_draw,
)
