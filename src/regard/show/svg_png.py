"""A figure as a file: SVG for papers and slides, or a PNG with the same labels, places and colours."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, final

import numpy as np
from jaxtyping import Float

from regard.data import png
from regard.errors import UsageError
from regard.show import figure, sheet
from regard.show.figure import FONT, INK, Box, Dots, Figure, Shape, Stroke, Weights, Words
from regard.show.overlay import Manner
from regard.traces.trace import Trace

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont


def drawing(
    trace: Trace,
    site: str | int | None = None,
    head: int | None = None,
    *,
    words: bool = False,
    turned: bool = False,
    manner: Manner = "cells",
) -> str:
    """The map of one site of a trace, one head or the mean of all; over a picture as `manner` says."""
    return written(sheet.drawing(trace, site, head, words=words, turned=turned, manner=manner))


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


# A figure in pixels: a PNG with the labels, places and colours of the SVG.
# Letters need a font and somebody who shapes Arabic and turns Hebrew around: Pillow does, and it is asked
# for here alone (`pip install regard[png]`). Fonts are the machine's own, the widest first; each label
# takes the first that has all of its letters, and a letter that no font has is a box, and said to be one.

SCALE = 2  # dots a unit: sharp on paper and on good screens
MOST = 100_000_000  # dots of one picture
# What Linux, macOS and Windows bring, plain and bold.
FONTS = (
    ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    ("NotoSans-Regular.ttf", "NotoSans-Bold.ttf"),
    ("Arial.ttf", "Arial Bold.ttf"),
    ("segoeui.ttf", "segoeuib.ttf"),
    ("LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"),
    ("Arial Unicode.ttf", "Arial Unicode.ttf"),
    ("NotoSansCJK-Regular.ttc", "NotoSansCJK-Bold.ttc"),
    ("PingFang.ttc", "PingFang.ttc"),
    ("msyh.ttc", "msyhbd.ttc"),
    ("wqy-zenhei.ttc", "wqy-zenhei.ttc"),
    ("NotoSansHebrew-Regular.ttf", "NotoSansHebrew-Bold.ttf"),
    ("NotoSansArabic-Regular.ttf", "NotoSansArabic-Bold.ttf"),
    ("NotoSansThai-Regular.ttf", "NotoSansThai-Bold.ttf"),
    ("NotoSansDevanagari-Regular.ttf", "NotoSansDevanagari-Bold.ttf"),
    ("unifont.ttf", "unifont.ttf"),
)
_NOBODY = "\U0010fffe"  # no character, so that what a font draws for it is its box


def painted(drawn: Figure) -> tuple[bytes, tuple[str, ...]]:
    """The PNG, and the letters that no font of this machine has."""
    _need_pillow()
    from PIL import Image

    size = drawn.width * SCALE, drawn.height * SCALE
    if size[0] * size[1] > MOST:
        raise UsageError(
            f"a picture of {size[0]:,} x {size[1]:,} dots is too large",
            where="--png",
            remedy="draw it as SVG",
        )
    canvas = Image.new("RGB", size, "#ffffff")
    brush = _Brush(canvas)
    for shape in drawn.shapes:
        brush.draw(shape)
    missing = {letter for shape in drawn.shapes for letter in _missing(shape)}
    return png.encode(np.asarray(canvas)), tuple(sorted(missing))


@final
class _Brush:
    """Shapes onto a canvas, one unit of a figure being `SCALE` dots."""

    def __init__(self, canvas: Image) -> None:
        from PIL import ImageDraw

        self._canvas = canvas
        self._pen = ImageDraw.Draw(canvas)

    def draw(self, shape: Box | Dots | Words | Stroke) -> None:
        match shape:
            case Box(x, y, width, height, colour):
                edges = [round(edge * SCALE) for edge in (x, y, x + width, y + height)]
                self._pen.rectangle((*edges[:2], edges[2] - 1, edges[3] - 1), colour)
            case Dots():
                self._dots(shape)
            case Stroke():
                self._stroke(shape)
            case Words():
                self._words(shape)

    def _dots(self, dots: Dots) -> None:
        from PIL import Image

        size = round(dots.width * SCALE), round(dots.height * SCALE)
        picture = Image.fromarray(np.ascontiguousarray(dots.colours))
        stretched = picture.resize(size, Image.Resampling.NEAREST)
        self._canvas.paste(stretched, (round(dots.x * SCALE), round(dots.y * SCALE)))

    def _stroke(self, stroke: Stroke) -> None:
        """Drawn four times as large and made small again: Pillow's own lines have steps."""
        from PIL import Image, ImageDraw

        fine = 4 * SCALE
        (left, first), (right, last) = stroke.start, stroke.end
        x, y = int(left) - 2, int(min(first, last)) - 2
        wide, high = int(right) - x + 4, int(abs(last - first)) + 6
        mask = Image.new("L", (wide * fine, high * fine))
        ends = [((at - x) * fine, (up - y) * fine) for at, up in (stroke.start, stroke.end)]
        ImageDraw.Draw(mask).line(ends, round(255 * stroke.opacity), 2 * fine)
        small = mask.resize((wide * SCALE, high * SCALE), Image.Resampling.BOX)
        self._canvas.paste(stroke.colour, (x * SCALE, y * SCALE), small)

    def _words(self, words: Words) -> None:
        font = _font(words.text, words.weight == 600)
        if not words.rising:
            anchor = {"start": "ls", "middle": "ms", "end": "rs"}[words.anchor]
            self._pen.text((words.x * SCALE, words.y * SCALE), words.text, INK, font, anchor)
        else:
            self._rising(words, font)

    def _rising(self, words: Words, font: FreeTypeFont) -> None:
        """The label on a sheet of its own with its first point in the middle, then turned around it."""
        from PIL import Image, ImageDraw

        reach = int(font.getlength(words.text) + font.size)
        sheet = Image.new("L", (2 * reach, 2 * reach))
        ImageDraw.Draw(sheet).text((reach, reach), words.text, 255, font, "ls")
        turned = sheet.rotate(45, Image.Resampling.BICUBIC)
        corner = round(words.x * SCALE) - reach, round(words.y * SCALE) - reach
        self._canvas.paste(INK, corner, turned)


def _missing(shape: object) -> Iterator[str]:
    if isinstance(shape, Words):
        own = _font(shape.text, shape.weight == 600)
        yield from (letter for letter in shape.text if not _has(own, letter))


@lru_cache(maxsize=4096)
def _font(text: str, bold: bool) -> FreeTypeFont:
    """The first font that has every letter of a text; if there is none, the one that has most of them."""
    fonts = _fonts(bold)
    return max(fonts, key=lambda font: sum(_has(font, letter) for letter in text))


@lru_cache(maxsize=2)
def _fonts(bold: bool) -> tuple[FreeTypeFont, ...]:
    from PIL import ImageFont

    fonts = []
    for names in FONTS:
        try:
            fonts.append(ImageFont.truetype(names[bold], FONT * SCALE))
        except OSError:
            continue
    usual = ImageFont.load_default(FONT * SCALE)
    return (*fonts, usual)  # type: ignore[arg-type]


@lru_cache(maxsize=1 << 16)
def _has(font: FreeTypeFont, letter: str) -> bool:
    """Whether it draws something of its own for a letter, not the box it has for all that it lacks."""
    return letter.isspace() or bytes(font.getmask(letter)) != bytes(font.getmask(_NOBODY))


def _need_pillow() -> None:
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise UsageError(
            "letters in a PNG need Pillow, which is not installed",
            where="--png",
            remedy="pip install 'regard[png]', or draw it with --svg",
        ) from None
