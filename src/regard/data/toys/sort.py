"""Sort: point at the numbers from the smallest to the largest."""

from __future__ import annotations

from random import Random

from regard.data.example import Pointed
from regard.data.toys.toy import Toy


def order(items: tuple[tuple[float, ...], ...]) -> tuple[int, ...]:
    """The positions of the items, the smallest first."""
    return tuple(sorted(range(len(items)), key=lambda position: items[position]))


def _draw(generator: Random) -> Pointed:
    # Thousandths, all different: no ties, not even in single precision.
    items = tuple(
        (number / 1000,) for number in generator.sample(range(1000), generator.randint(3, 10))
    )
    return Pointed(items, order(items))


_PROBE = ((0.62,), (0.07,), (0.95,), (0.31,), (0.48,), (0.83,))

SORT = Toy(
    name="sort",
    title="point at numbers in ascending order",
    story="The answer is not made of words but of places in the question, so attention itself "
    "is the answer (Vinyals 2015).",
    probe=Pointed(_PROBE, order(_PROBE)),
    draw=_draw,
)
