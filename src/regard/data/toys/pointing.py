"""Pointing: an answer made of positions in the question (Vinyals 2015), by order or by geometry.

The corners of a convex hull go counter-clockwise, as in the paper, and begin with the one of lowest
position; that choice is arbitrary, and makes the answer unique. The first corner is not said again
at the end, and points that lie on an edge are not corners.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from regard.data.example import Pointed
from regard.data.toys.toy import Toy


def order(items: tuple[tuple[float, ...], ...]) -> tuple[int, ...]:
    """The positions of the items, the smallest first."""
    return tuple(sorted(range(len(items)), key=lambda position: items[position]))


def _unsorted(generator: Random) -> Pointed:
    # Thousandths, all different: no ties, not even in single precision.
    items = tuple(
        (number / 1000,) for number in generator.sample(range(1000), generator.randint(3, 10))
    )
    return Pointed(items, order(items))


SORT = Toy(
    name="sort",
    title="point at numbers in ascending order",
    story="The answer is not made of words but of places in the question, so attention itself "
    "is the answer (Vinyals 2015).",
    probe=Pointed(
        items=((0.62,), (0.07,), (0.95,), (0.31,), (0.48,), (0.83,)),
        positions=(1, 3, 4, 0, 5, 2),
    ),
    draw=_unsorted,
)

Point = tuple[int, int]  # on a grid, where a turn to the left is exact

_GRID = 1000


def convex_hull(points: Sequence[Point]) -> tuple[int, ...]:
    """The corners' positions, by the monotone chain: lower side left to right, upper side back."""
    rightward = sorted(range(len(points)), key=lambda position: points[position])
    corners = _chain(points, rightward)[:-1] + _chain(points, reversed(rightward))[:-1]
    first = corners.index(min(corners))
    return tuple(corners[first:] + corners[:first])


def _chain(points: Sequence[Point], along: Iterable[int]) -> list[int]:
    chain: list[int] = []
    for position in along:
        while len(chain) > 1 and _turn(points[chain[-2]], points[chain[-1]], points[position]) <= 0:
            chain.pop()
        chain.append(position)
    return chain


def _turn(a: Point, b: Point, c: Point) -> int:
    """Twice the area of the triangle a b c: positive when the way a, b, c turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _pointed(grid: Sequence[Point]) -> Pointed:
    items = tuple((x / _GRID, y / _GRID) for x, y in grid)
    return Pointed(items, convex_hull(grid))


def _points(generator: Random) -> Pointed:
    while True:
        count = generator.randint(3, 10)
        cells = generator.sample(range(_GRID * _GRID), count)
        pointed = _pointed([(cell % _GRID, cell // _GRID) for cell in cells])
        if len(pointed.positions) > 2:  # else all lie on one line
            return pointed


HULL = Toy(
    name="hull",
    title="point at the corners of the convex hull",
    story="Geometry without being told any: which points are outermost, and in which order one "
    "meets them walking around (Vinyals 2015).",
    probe=Pointed(
        items=(
            *((0.5, 0.48), (0.9, 0.12), (0.13, 0.2), (0.42, 0.61)),
            *((0.78, 0.87), (0.21, 0.82), (0.62, 0.3)),
        ),
        positions=(1, 4, 5, 2),
    ),
    draw=_points,
)
