"""Copy: say again what was said, letter by letter."""

from __future__ import annotations

from random import Random
from string import ascii_lowercase

from regard.data.example import Pair
from regard.data.toys.toy import Toy


def letters(generator: Random) -> str:
    """Three to ten letters with spaces between them, so that each is a word of its own."""
    return " ".join(generator.choices(ascii_lowercase, k=generator.randint(3, 10)))


def _draw(generator: Random) -> Pair:
    text = letters(generator)
    return Pair(text, text)


COPY = Toy(
    name="copy",
    title="copy letters",
    story="The simplest thing attention can do: letter i looks at letter i, and the map is a diagonal.",
    probe=Pair("r e g a r d", "r e g a r d"),
    draw=_draw,
)
