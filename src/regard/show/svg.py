"""A figure as SVG, for papers and slides.

Other people's text is escaped once, here, and each label is a `text` element of its own, so that Hebrew and
Arabic run inside it and nowhere else.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

import numpy as np
from jaxtyping import Float

from regard.show import figure, png
from regard.show.figure import FONT, INK, Box, Dots, Figure, Shape, Stroke, Weights, Words
from regard.traces.trace import Trace


def drawing(
    trace: Trace, site: str | int | None = None, head: int | None = None, *, words: bool = False
) -> str:
    """The heat map of one site of a trace: one head, or the mean of all."""
    return written(figure.drawing(trace, site, head, words=words))


def heat_map(weights: Weights, rows: Sequence[str], columns: Sequence[str], title: str = "") -> str:
    """A matrix of weights with names, one square a weight."""
    return written(figure.heat_map(weights, rows, columns, title))


def lines(
    weights: Float[np.ndarray, "heads left right"],
    left: Sequence[str],
    right: Sequence[str],
    title: str = "",
) -> str:
    """Who looks at whom, one colour a head."""
    return written(figure.lines(weights, left, right, title))


def written(drawn: Figure) -> str:
    """Any figure as the text of an SVG file."""
    wide, high = drawn.width, drawn.height
    size = f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
    font = f'font-family="system-ui, DejaVu Sans, sans-serif" font-size="{FONT:g}" fill="{INK}"'
    slanted = any(isinstance(shape, Stroke) for shape in drawn.shapes)
    edges = f'shape-rendering="{"auto" if slanted else "crispEdges"}" stroke-width="2"'
    body = "\n".join(map(_element, drawn.shapes))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {font} {edges}>\n'
        f"<title>{escape(drawn.title)}</title>\n"
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


def _element(shape: Shape) -> str:
    match shape:
        case Box(x, y, width, height, colour, told):
            place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.2f}" height="{height:.2f}"'
            box = f'<rect {place} fill="{colour}"'
            return f"{box}><title>{escape(told)}</title></rect>" if told else f"{box}/>"
        case Dots(x, y, width, height, colours):
            data = base64.b64encode(png.encode(colours)).decode("ascii")
            place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
            style = 'preserveAspectRatio="none" style="image-rendering:pixelated"'
            return f'<image {place} {style} href="data:image/png;base64,{data}"/>'
        case Stroke(start, end, colour, opacity):
            ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
            return f'<line {ends} stroke="{colour}" stroke-opacity="{opacity:.3f}"/>'
        case Words():
            return _text(shape)


def _text(words: Words) -> str:
    x, y = f"{words.x:.1f}", f"{words.y:.1f}"
    turned = f' transform="rotate(-45 {x} {y})"' if words.rising else ""
    heavy = f' font-weight="{words.weight}"' if words.weight != 400 else ""
    place = f'x="{x}" y="{y}" text-anchor="{words.anchor}"'
    # Its own direction, and no other label's.
    place += "" if words.text.isascii() else ' style="unicode-bidi:plaintext"'
    return f"<text {place}{turned}{heavy}>{escape(words.text)}</text>"
