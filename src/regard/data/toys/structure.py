"""Structure without a language: how deep brackets nest, and answers made of positions (Vinyals 2015)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from regard.data.example import Labelled, Pointed, Tagged
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

FIRST = "first"
LONGEST_ROW = 20  # letters in training; longer rows are asked for by their length


def _before(generator: Random, length: int | None = None) -> Tagged:
    """Each letter's tag is the letter before it; the first has none."""
    count = generator.randint(2, LONGEST_ROW) if length is None else length
    words = generator.choices("abcdefgh", k=count)
    return Tagged(tuple(words), (FIRST, *words[:-1]))


BEFORE = Toy(
    name="before",
    title="which letter stands before each letter",
    story="Every letter looks one position back, in rows of up to 20 letters. Whether it still does so in a "
    "row of 200 depends on how positions are told.",
    probe=Tagged(words=tuple("headache"), tags=(FIRST, *"headach")),
    draw=_before,
    sized=_before,
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


# Pointing: an answer made of positions in the question (Vinyals 2015), by order or by geometry.
# The corners of a convex hull go counter-clockwise, as in the paper, and begin with the one of lowest
# position; that choice is arbitrary, and makes the answer unique. The first corner is not said again at the
# end, and points that lie on an edge are not corners.


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
