"""Where everything of a drawing goes: boxes, dots, lines and words, with places and colours.

The one idea: a figure is a list of shapes, and anyone who writes it, as SVG (`svg.py`) or in pixels
(`raster.py`), decides nothing; so that both look alike. The background is white: a figure looks the same
wherever it is put.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np
from jaxtyping import Float, UInt8
from rich.cells import cell_len

from regard.errors import UsageError
from regard.show.colour import cividis
from regard.show.heatmap import AXES, TOPS
from regard.show.label import one_line, piece_names, shortened
from regard.traces.site import TracedSite
from regard.traces.trace import Trace

FONT = 13.0
LETTER = 0.62 * FONT  # about as wide as a letter of a sans-serif font is
LEANING = 1.4 * FONT  # what a label at 45 degrees takes from its row
LONGEST = 24
CELL = 26.0
SIDE = 1300.0  # the most that cells may take up, before they shrink
DRAWN = 10_000  # cells as shapes; more than that are one picture
TOLD = 2_500  # cells that say their number under the mouse
FAINTEST = 0.02
TITLE, GAP = 34.0, 14.0
LINE = 18.0  # from one line of a title to the next
LONGEST_TITLE = 240
SAID = 100  # letters of a question, and of an answer, in a title
NARROWEST = 340.0
INK = "#1a1a1a"
# Okabe and Ito 2008: eight colours that colour-blind readers tell apart.
HEADS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000", "#f0e442")

Length = int | float
Weight = Literal[300, 400, 600]  # of a font
Weights = Float[np.ndarray, "row column"]


@final
@dataclass(frozen=True)
class Box:
    """A filled rectangle; `told` is what it says under the mouse."""

    x: Length
    y: Length
    width: Length
    height: Length
    colour: str
    told: str = ""


@final
@dataclass(frozen=True, eq=False)
class Dots:
    """A picture with one dot a cell, stretched over a rectangle."""

    x: Length
    y: Length
    width: Length
    height: Length
    colours: UInt8[np.ndarray, "row column 3"]


@final
@dataclass(frozen=True)
class Words:
    """A label on its baseline: it starts, ends or is centred at a point, level or rising at 45 degrees."""

    x: Length
    y: Length
    text: str
    anchor: Literal["start", "middle", "end"] = "start"
    rising: bool = False
    weight: Weight = 400


@final
@dataclass(frozen=True)
class Stroke:
    """A straight line, two wide, as strong as its opacity."""

    start: tuple[Length, Length]
    end: tuple[Length, Length]
    colour: str
    opacity: float


Shape = Box | Dots | Words | Stroke


@final
@dataclass(frozen=True)
class Figure:
    """All shapes in the order they are drawn in; text in them is safe to show, and not yet escaped."""

    width: int
    height: int
    title: str
    shapes: tuple[Shape, ...]


def drawing(
    trace: Trace,
    site: str | int | None = None,
    head: int | None = None,
    *,
    words: bool = False,
    turned: bool = False,
    title: str | None = None,
) -> Figure:
    """The heat map of one site of a trace: one head, or the mean of all; `turned`, queries go across.

    Where neither site nor head is chosen, whole words are drawn, by the heads that align them best; of a
    sound, whose words have bars of their own, the pieces.
    """
    chosen = trace.site(site)
    rows, columns, one, where = one_map(trace, site, head, words or (site is None and head is None))
    sides = [AXES.get(side, side) for side in (chosen.queries, chosen.keys)]
    if turned or len(trace.axes[chosen.queries]) == 1:
        # One query would be a single row below a tower of labels.
        one, rows, columns, sides = one.T, columns, rows, sides[::-1]
    note = f"{sides[0]} down, {sides[1]} across; {where}"
    return heat_map(one, rows, columns, title_of(trace) if title is None else title, note)


def one_map(
    trace: Trace, site: str | int | None, head: int | None, words: bool
) -> tuple[tuple[str, ...], tuple[str, ...], Weights, str]:
    """Labels of rows and columns, one matrix, and which attention and heads it is of."""
    chosen = trace.site(site)
    rows, columns, weights = shown(trace, chosen, words)
    if words and site is None and head is None:
        one, which = trace.alignment(), _heads(trace, chosen)
    else:
        one = weights.mean(0) if head is None else weights[chosen.checked(head)]
        which = f"mean of {chosen.heads} heads" if head is None else f"head {head}"
    return rows, columns, one, f"{chosen.path}, {which}" if chosen.heads > 1 else chosen.path


def title_of(trace: Trace) -> str:
    """What was asked, and what was answered."""
    answer = trace.answer.text
    return f"{label_of(trace.title, SAID)} \u2192 {label_of(answer, SAID)}".rstrip()


def _heads(trace: Trace, site: TracedSite) -> str:
    """The heads that `Trace.alignment` is the mean of."""
    if trace.look is None or not trace.look.heads:
        return f"mean of {site.heads} heads"
    numbers = ", ".join(map(str, trace.look.heads))
    return f"mean of heads {numbers}" if len(trace.look.heads) > 1 else f"head {numbers}"


def shown(
    trace: Trace, site: TracedSite, words: bool
) -> tuple[tuple[str, ...], tuple[str, ...], Float[np.ndarray, "heads row column"]]:
    """Labels and weights of a site, by pieces or by words."""
    queries, keys = trace.axes[site.queries], trace.axes[site.keys]
    if words:
        return queries.words, keys.words, trace.by_words(site)
    return piece_names(queries.pieces), piece_names(keys.pieces), site.weights


def heat_map(
    weights: Weights, rows: Sequence[str], columns: Sequence[str], title: str = "", note: str = ""
) -> Figure:
    """A matrix of weights with names, one square a weight; `note` stands below the title, in smaller weight.

    Both are broken into lines: a title must not make a picture wider than its map.
    """
    if weights.shape != (len(rows), len(columns)):
        raise UsageError(
            f"a {weights.shape} matrix does not fit {len(rows)} rows and {len(columns)} columns",
            where="weights",
            remedy="give one name for each row and each column",
        )
    cell = max(2.0, min(CELL, SIDE / max(1, *weights.shape)))
    down, across = [label_of(name) for name in rows], [label_of(name) for name in columns]
    left = float(math.ceil(GAP + max((width_of(name) for name in down), default=0.0) + 8))
    lean = 0.72 * max(
        (width_of(name) for name in across), default=0.0
    )  # labels stand at 45 degrees
    wide, high = cell * len(columns), cell * len(rows)
    width = max(left + wide + lean + GAP, left + 190, NARROWEST)
    heads, end = heading(title, note, width)
    top = float(math.ceil(end + lean + 14))
    most = min((one for one in TOPS if one >= weights.max(initial=0.0)), default=1.0)
    step, leaning = math.ceil(FONT / cell), math.ceil(LEANING / cell)
    shapes: list[Shape] = [
        *heads,
        *_cells(weights / most, weights, (left, top), cell, (down, across)),
    ]
    for number, name in list(enumerate(across))[::leaning]:
        shapes.append(Words(left + (number + 0.5) * cell, top - 6, name, rising=True))
    for number, name in list(enumerate(down))[::step]:
        shapes.append(Words(left - 8, top + (number + 0.5) * cell + 4.5, name, "end"))
    shapes += legend(left, top + high + 18, most)
    if leaning > 1:
        shapes.append(Words(left + 190, top + high + 29, f"one label in {leaning} is shown"))
    return finished(width, top + high + 46, title, shapes)


def lines(
    weights: Float[np.ndarray, "heads left right"],
    left: Sequence[str],
    right: Sequence[str],
    title: str = "",
) -> Figure:
    """Who looks at whom: a line from each token to each, as strong as its weight, one colour a head."""
    names, others = [label_of(name) for name in left], [label_of(name) for name in right]
    pitch = 24.0
    edge = GAP + max((width_of(name) for name in names), default=0.0) + 10
    far = edge + 220
    width = max(far + 10 + max((width_of(name) for name in others), default=0.0) + GAP, 320.0)
    shapes, end = heading(title, "", width)
    start = end + 24
    for head, matrix in enumerate(weights):
        colour = HEADS[head % len(HEADS)]
        for query, key in np.argwhere(matrix >= FAINTEST).tolist():
            strength = min(1.0, float(matrix[query, key]))
            ends = (edge, start + query * pitch), (far, start + key * pitch)
            shapes.append(Stroke(*ends, colour, strength))
    for number, name in enumerate(names):
        shapes.append(Words(edge - 6, start + number * pitch + 4.5, name, "end"))
    for number, name in enumerate(others):
        shapes.append(Words(far + 6, start + number * pitch + 4.5, name))
    height = start + max(len(names), len(others), 1) * pitch + GAP
    shapes.append(Words(GAP, height, f"weights below {FAINTEST:g} are left out", weight=300))
    return finished(width, height + GAP, title, shapes)


def stacked(figures: Sequence[Figure], title: str) -> Figure:
    """Several drawings below each other, under one title as wide as the widest."""
    width = float(max(one.width for one in figures))
    shapes, top = heading(title, "", width)
    end = float(math.ceil(top))
    for one in figures:
        shapes += [_lower(shape, end) for shape in one.shapes]
        end += one.height
    return finished(width, float(end), title, shapes)


def _lower(shape: Shape, by: Length) -> Shape:
    if isinstance(shape, Stroke):
        (left, high), (right, low) = shape.start, shape.end
        return replace(shape, start=(left, high + by), end=(right, low + by))
    return replace(shape, y=shape.y + by)


def heading(title: str, note: str, width: float) -> tuple[list[Shape], float]:
    """Title and note in lines that fit a width, and where they end."""
    shapes: list[Shape] = []
    parts: list[tuple[str, Weight]] = [(title, 600), (note, 300)]
    for text, weight in parts:
        for line in _broken(label_of(text, LONGEST_TITLE), width - 2 * GAP):
            shapes.append(Words(GAP, TITLE - 12 + len(shapes) * LINE, line, weight=weight))
    return shapes, TITLE + max(0, len(shapes) - 1) * LINE


def _broken(text: str, width: float) -> Iterator[str]:
    """Lines of words that are no wider; a word that is wider by itself is cut short."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if line and width_of(longer) > width:
            yield line
            longer = word
        line = shortened(longer, max(1, int(width / LETTER)))
    if line:
        yield line


def _cells(
    shares: Weights,
    weights: Weights,
    corner: tuple[float, float],
    cell: float,
    names: tuple[Sequence[str], Sequence[str]],
) -> Iterator[Shape]:
    left, top = corner
    if shares.size > DRAWN:
        table = np.array([cividis(step / 255) for step in range(256)], np.uint8)
        dots = table[np.rint(np.clip(np.nan_to_num(shares), 0, 1) * 255).astype(np.uint8)]
        yield Dots(left, top, shares.shape[1] * cell, shares.shape[0] * cell, dots)
        return
    is_titled = shares.size <= TOLD
    for row, column in np.ndindex(*shares.shape):
        title = f"{names[0][row]} \u2192 {names[1][column]}: {weights[row, column]:.3f}"
        colour = colour_of(float(np.nan_to_num(shares[row, column])))
        x, y = left + column * cell, top + row * cell
        yield Box(x, y, cell, cell, colour, title if is_titled else "")


def legend(x: float, y: float, most: float) -> Iterator[Shape]:
    steps = 24
    yield Words(x, y + 11, "0")
    for step in range(steps):
        yield Box(x + 14 + step * 5, y, 5.2, 12, colour_of(step / (steps - 1)))
    yield Words(x + 14 + steps * 5 + 6, y + 11, f"{most:g}")


def finished(width: float, height: float, title: str, shapes: Sequence[Shape]) -> Figure:
    kept = tuple(shape for shape in shapes if not isinstance(shape, Words) or shape.text)
    return Figure(round(width), round(height), label_of(title, 200), kept)


def colour_of(share: float) -> str:
    return "#{:02x}{:02x}{:02x}".format(*cividis(share))


def label_of(text: str, longest: int = LONGEST) -> str:
    return shortened(one_line(text), longest)


def width_of(text: str) -> float:
    return cell_len(text) * LETTER
