"""A trace as a drawing for papers and slides: the heat map of one head, and the lines of several.

Other people's text is escaped once, here, and each label is a `text` element of its own, so that Hebrew and
Arabic run inside it and nowhere else. The background is white: a figure looks the same wherever it is put.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence
from html import escape

import numpy as np
from jaxtyping import Float
from rich.cells import cell_len

from regard.errors import UsageError
from regard.inspect.site import TracedSite
from regard.inspect.trace import Trace
from regard.show import png
from regard.show.colour import cividis
from regard.show.heatmap import AXES, TOPS
from regard.show.label import one_line, piece_names, shortened

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
# Okabe and Ito 2008: eight colours that colour-blind readers tell apart.
HEADS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000", "#f0e442")

Weights = Float[np.ndarray, "row column"]


def drawing(
    trace: Trace, site: str | int | None = None, head: int | None = None, *, words: bool = False
) -> str:
    """The heat map of one site of a trace: one head, or the mean of all."""
    chosen = trace.site(site)
    down, across, weights = shown(trace, chosen, words)
    one = weights.mean(0) if head is None else weights[chosen.checked(head)]
    rows, columns, sides = down, across, [AXES[s] for s in (chosen.queries, chosen.keys)]
    if chosen.queries == "one":  # one query would be a single row below a tower of labels
        one, rows, columns, sides = one.T, columns, rows, sides[::-1]
    which = f"mean of {chosen.heads} heads" if head is None else f"head {head}"
    where = f"{chosen.path}, {which}" if chosen.heads > 1 else chosen.path
    axes = f"{sides[0]} down, {sides[1]} across"
    return heat_map(one, rows, columns, f"{where}: {axes}")


def shown(
    trace: Trace, site: TracedSite, words: bool
) -> tuple[tuple[str, ...], tuple[str, ...], Float[np.ndarray, "heads row column"]]:
    """Labels and weights of a site, by pieces or by words."""
    queries, keys = trace.axes[site.queries], trace.axes[site.keys]
    if words:
        return queries.words, keys.words, trace.by_words(site)
    return piece_names(queries.pieces), piece_names(keys.pieces), site.weights


def heat_map(weights: Weights, rows: Sequence[str], columns: Sequence[str], title: str = "") -> str:
    """A matrix of weights with names, one square a weight."""
    if weights.shape != (len(rows), len(columns)):
        raise UsageError(
            f"a {weights.shape} matrix does not fit {len(rows)} rows and {len(columns)} columns",
            where="weights",
        )
    cell = max(2.0, min(CELL, SIDE / max(1, *weights.shape)))
    down, across = [_label(name) for name in rows], [_label(name) for name in columns]
    left = float(math.ceil(GAP + max((_width(name) for name in down), default=0.0) + 8))
    lean = 0.72 * max((_width(name) for name in across), default=0.0)  # labels stand at 45 degrees
    head = float(math.ceil(TITLE + lean + 14))
    wide, high = cell * len(columns), cell * len(rows)
    width = max(left + wide + lean + GAP, GAP + _width(_label(title, 100)) + GAP, left + 190)
    top = min((one for one in TOPS if one >= weights.max(initial=0.0)), default=1.0)
    step, leaning = math.ceil(FONT / cell), math.ceil(LEANING / cell)
    parts = [
        *_text(GAP, TITLE - 12, _label(title, 100), weight="600"),
        *_cells(weights / top, weights, (left, head), cell, (down, across)),
    ]
    for number, name in list(enumerate(across))[::leaning]:
        x, y = left + (number + 0.5) * cell, head - 6
        parts += _text(x, y, name, turn=-45)
    for number, name in list(enumerate(down))[::step]:
        parts += _text(left - 8, head + (number + 0.5) * cell + 4.5, name, anchor="end")
    parts += _legend(left, head + high + 18, top)
    if leaning > 1:
        parts += _text(left + 190, head + high + 29, f"one label in {leaning} is shown")
    return _svg(width, head + high + 46, title, parts)


def lines(
    weights: Float[np.ndarray, "heads left right"],
    left: Sequence[str],
    right: Sequence[str],
    title: str = "",
) -> str:
    """Who looks at whom: a line from each token to each, as strong as its weight, one colour a head."""
    names, others = [_label(name) for name in left], [_label(name) for name in right]
    pitch, start = 24.0, TITLE + 24
    edge = GAP + max((_width(name) for name in names), default=0.0) + 10
    far = edge + 220
    width = max(far + 10 + max((_width(name) for name in others), default=0.0) + GAP, 320.0)
    parts = [*_text(GAP, TITLE - 12, _label(title, 100), weight="600")]
    for head, matrix in enumerate(weights):
        colour = HEADS[head % len(HEADS)]
        for query, key in np.argwhere(matrix >= FAINTEST).tolist():
            ends = f'x1="{edge:.1f}" y1="{start + query * pitch}" x2="{far:.1f}" y2="{start + key * pitch}"'
            strength = min(1.0, float(matrix[query, key]))
            parts.append(f'<line {ends} stroke="{colour}" stroke-opacity="{strength:.3f}"/>')
    for number, name in enumerate(names):
        parts += _text(edge - 6, start + number * pitch + 4.5, name, anchor="end")
    for number, name in enumerate(others):
        parts += _text(far + 6, start + number * pitch + 4.5, name)
    height = start + max(len(names), len(others), 1) * pitch + GAP
    note = f"weights below {FAINTEST:g} are left out"
    parts += _text(GAP, height, note, weight="300")
    return _svg(
        max(width, _width(title) + 2 * GAP), height + GAP, title, parts, 'stroke-width="2"', "auto"
    )


def _cells(
    shares: Weights,
    weights: Weights,
    corner: tuple[float, float],
    cell: float,
    names: tuple[Sequence[str], Sequence[str]],
) -> Iterator[str]:
    left, head = corner
    wide, high = shares.shape[1] * cell, shares.shape[0] * cell
    if shares.size > DRAWN:
        table = np.array([cividis(step / 255) for step in range(256)], np.uint8)
        dots = table[np.rint(np.clip(np.nan_to_num(shares), 0, 1) * 255).astype(np.uint8)]
        data = base64.b64encode(png.encode(dots)).decode("ascii")
        place = f'x="{left:.1f}" y="{head:.1f}" width="{wide:.1f}" height="{high:.1f}"'
        style = 'preserveAspectRatio="none" style="image-rendering:pixelated"'
        yield f'<image {place} {style} href="data:image/png;base64,{data}"/>'
        return
    told = shares.size <= TOLD
    for row, column in np.ndindex(*shares.shape):
        x, y = left + column * cell, head + row * cell
        share = float(np.nan_to_num(shares[row, column]))
        colour = "#{:02x}{:02x}{:02x}".format(*cividis(share))
        place = f'x="{x:.1f}" y="{y:.1f}" width="{cell:.2f}" height="{cell:.2f}" fill="{colour}"'
        if not told:
            yield f"<rect {place}/>"
            continue
        said = f"{names[0][row]} \u2192 {names[1][column]}: {weights[row, column]:.3f}"
        yield f"<rect {place}><title>{escape(said)}</title></rect>"


def _legend(x: float, y: float, top: float) -> Iterator[str]:
    steps = 24
    yield from _text(x, y + 11, "0")
    for step in range(steps):
        colour = "#{:02x}{:02x}{:02x}".format(*cividis(step / (steps - 1)))
        yield f'<rect x="{x + 14 + step * 5:.1f}" y="{y}" width="5.2" height="12" fill="{colour}"/>'
    yield from _text(x + 14 + steps * 5 + 6, y + 11, f"{top:g}")


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", turn: int = 0, weight: str = "400"
) -> Iterator[str]:
    if not text:
        return
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    heavy = f' font-weight="{weight}"' if weight != "400" else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    place += "" if text.isascii() else ' style="unicode-bidi:plaintext"'  # its own direction, here
    yield f"<text {place}{turned}{heavy}>{escape(text)}</text>"


def _svg(
    width: float,
    height: float,
    title: str,
    parts: Sequence[str],
    more: str = "",
    edges: str = "crispEdges",
) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    font = f'font-family="system-ui, DejaVu Sans, sans-serif" font-size="{FONT:g}"'
    said = f"<title>{escape(_label(title, 200))}</title>"
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {font} fill="#1a1a1a" '
        f'shape-rendering="{edges}" {more}>\n'
        f'{said}\n<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


def _label(text: str, longest: int = LONGEST) -> str:
    return shortened(one_line(text), longest)


def _width(text: str) -> float:
    return cell_len(text) * LETTER
