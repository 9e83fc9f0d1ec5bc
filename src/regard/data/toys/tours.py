"""Tours: the shortest round trip through points, exact where that is possible (Held and Karp 1962).

A tour begins at the item of position 0 and goes on to whichever of its two neighbours has the lower position:
an arbitrary choice, as every start and both directions are as short, that makes the answer unique.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING

from regard.data.example import Pointed
from regard.data.toys.toy import Toy

if TYPE_CHECKING:
    import numpy as np

Points = Sequence[Sequence[float]]

EXACT = 13  # up to so many points every subset of them is tried
KICKS = 30  # times a tour of more points is broken up and mended
_GRID = 1000


def distances(points: Points) -> np.ndarray:
    """How far each point is from each."""
    import numpy as np

    places = np.asarray(points, dtype=np.float64).reshape(len(points), -1)
    return np.sqrt(((places[:, None] - places[None]) ** 2).sum(-1))


def tour_length(points: Points, tour: Sequence[int]) -> float:
    """All the way round, back to the first."""
    far = distances(points)
    return float(sum(far[tour[number - 1], place] for number, place in enumerate(tour)))


def shortest_tour(points: Points) -> tuple[int, ...]:
    """The best tour: exactly, up to `EXACT` points; above that, the best that many repairs find."""
    if len(points) < 4:  # all tours are one
        return tuple(range(len(points)))
    return held_karp(points) if len(points) <= EXACT else repaired(points)


def held_karp(points: Points) -> tuple[int, ...]:
    """best(S, j): from 0 through all of S, ending at j = min over i of best(S without j, i) + d(i, j)."""
    import numpy as np

    far, others = distances(points), len(points) - 1
    between = far[1:, 1:]
    best = np.full((1 << others, others), np.inf)
    for last in range(others):
        best[1 << last, last] = far[0, last + 1]
    for subsets, ends in _subsets(others):
        before = best[subsets ^ (1 << ends)]
        best[subsets, ends] = (before + between[:, ends].T).min(1)
    subset, tour = (1 << others) - 1, [0]
    costs = best[subset] + far[1:, 0]
    while subset:
        last = int(costs.argmin())
        tour.append(last + 1)
        subset ^= 1 << last
        costs = best[subset] + between[:, last]
    return one_way(tour)


@lru_cache(maxsize=16)
def _subsets(count: int) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Subsets of two and more of so many, small ones first, each with each of its members."""
    import numpy as np

    every = np.arange(1 << count)
    member = (every[:, None] >> np.arange(count)) & 1
    sizes = member.sum(1)
    chosen = [np.nonzero(member * (sizes == size)[:, None]) for size in range(2, count + 1)]
    return tuple((subsets, ends) for subsets, ends in chosen)


def repaired(points: Points, kicks: int = KICKS, seed: int = 0) -> tuple[int, ...]:
    """Iterated 2-opt: cross no two edges, cut the tour in four, join it otherwise, mend, keep the better."""
    import numpy as np

    random, far, count = Random(seed), distances(points), len(points)
    best = _uncrossed(_nearest(far), far)
    shortest = far[best, np.roll(best, -1)].sum()
    for _ in range(kicks):
        a, b, c = sorted(random.sample(range(1, count), 3))
        parts = best[:a], best[b:c], best[a:b], best[c:]
        tour = _uncrossed(np.concatenate(parts), far)
        length = far[tour, np.roll(tour, -1)].sum()
        if length < shortest - 1e-12:
            best, shortest = tour, length
    return one_way(best.tolist())


def _nearest(far: np.ndarray) -> np.ndarray:
    """From 0 always on to the nearest point that is left."""
    import numpy as np

    tour, left = [0], set(range(1, len(far)))
    while left:
        tour.append(min(left, key=lambda point: (far[tour[-1], point], point)))
        left.remove(tour[-1])
    return np.array(tour)


def _uncrossed(tour: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Two edges (a, b) and (c, d) become (a, c) and (b, d), the best pair first, while that is shorter."""
    import numpy as np

    while True:
        after = np.roll(tour, -1)
        edges = far[tour, after]
        gain = far[np.ix_(tour, tour)] + far[np.ix_(after, after)] - edges[:, None] - edges[None]
        np.fill_diagonal(gain, 0.0)
        first, second = divmod(int(gain.argmin()), len(tour))
        if gain[first, second] > -1e-12:
            return tour
        first, second = sorted((first, second))
        tour = tour.copy()
        tour[first + 1 : second + 1] = tour[first + 1 : second + 1][::-1]


def one_way(tour: Sequence[int]) -> tuple[int, ...]:
    """The same tour from item 0, towards its neighbour of lower position."""
    start = tour.index(0)
    turned = [*tour[start:], *tour[:start]]
    return tuple(turned if turned[1] < turned[-1] else [turned[0], *turned[:0:-1]])


def problem(generator: Random, least: int, most: int) -> Pointed:
    """Points of a square, none in the place of another, and their shortest tour."""
    cells = generator.sample(range(_GRID * _GRID), generator.randint(least, most))
    items = tuple((cell % _GRID / _GRID, cell // _GRID / _GRID) for cell in cells)
    return Pointed(items, shortest_tour(items))


def _cities(generator: Random) -> Pointed:
    return problem(generator, 5, 10)


_PROBE = (
    *((0.52, 0.91), (0.1, 0.35), (0.83, 0.2), (0.3, 0.74)),
    *((0.66, 0.55), (0.91, 0.72), (0.41, 0.12), (0.18, 0.6)),
)

TOUR = Toy(
    name="tour",
    title="the shortest round trip through points",
    story="The travelling salesman: every point once and back again. The decoder cannot leave one out, so "
    "each answer is a tour; how short it is, a model must learn (Vinyals 2015).",
    probe=Pointed(_PROBE, (0, 3, 7, 1, 6, 2, 4, 5)),
    draw=_cities,
)
