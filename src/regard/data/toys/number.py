"""What the number toys of every language share: which numbers are drawn, and how they are asked."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from regard.data.example import Pair
from regard.data.toys.toy import Toy
from regard.errors import UsageError


def thousands(number: int) -> tuple[int, int]:
    """342,018 as (342, 18)."""
    if not 0 <= number < 1_000_000:
        raise UsageError(f"{number} cannot be spelt out", remedy="use 0 to 999,999")
    return divmod(number, 1000)


def number_toy(name: str, title: str, story: str, probe: int, spell: Callable[[int], str]) -> Toy:
    """Digits to words in one language; each count of digits is drawn as often as any other."""

    def draw(generator: Random) -> Pair:
        number = generator.randrange(10 ** generator.randint(1, 6))
        return Pair(str(number), spell(number))

    return Toy(name, title, story, Pair(str(probe), spell(probe)), draw, unit="char")
