"""One sentence in several languages, side by side: a line from each word to the word it comes from (L106)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from regard.errors import UsageError
from regard.show.figure import FONT, GAP, HEADS, LINE, TITLE, Figure, Shape, Stroke, Words
from regard.show.label import one_line, shortened
from regard.traces.head_roles import is_special
from regard.traces.trace import Trace
from regard.worked.word_orders import Order

LETTER = 0.66 * FONT
SPACE = 16.0  # between two words
APART = 64.0  # from the words of the source down to those of a translation
LEFT = 90.0  # for the name of a language


def order_of(trace: Trace, language: str) -> tuple[tuple[str, ...], Order]:
    """The words of the source, and the answer's words, each with the source word it looked at most.

    Signs of the model's own, such as the end and the tag of a language, are left out on both sides.
    """
    site, weights = trace.site(), trace.alignment()
    rows, columns = (trace.axes[side].words for side in (site.queries, site.keys))
    if site.queries == site.keys or len(rows) < 2:
        raise UsageError(
            "this model has no attention from an answer to its source",
            where="--to",
            remedy="ask a translator",
        )
    source = [place for place, word in enumerate(columns) if not is_special(word)]
    answer = [place for place, word in enumerate(rows) if not is_special(word)]
    chosen = [int(weights[row, source].argmax()) for row in answer]
    words = tuple(rows[row] for row in answer)
    return tuple(columns[place] for place in source), Order(language, words, tuple(chosen))


def lines_of(source: Sequence[str], orders: Sequence[Order]) -> Iterator[str]:
    """In a terminal: the source with numbers, and below each word of a translation the number it has."""
    wide = max(len(order.language) for order in orders)
    names = [f"{number}" for number in range(1, len(source) + 1)]
    yield from _pair("", wide, source, names)
    for order in orders:
        numbers = ["-" if one is None else str(one + 1) for one in order.sources]
        yield ""
        yield from _pair(order.language, wide, order.words, numbers)
        yield f"{'':{wide}}  {order.crossings} crossing{'' if order.crossings == 1 else 's'}"


def _pair(name: str, wide: int, words: Sequence[str], numbers: Sequence[str]) -> Iterator[str]:
    """Words, and a number below each."""
    shown = [one_line(word) for word in words]
    widths = [max(cell_len(a), len(b)) for a, b in zip(shown, numbers, strict=True)]
    for start, row in ((name, shown), ("", numbers)):
        cells = (one + " " * (size - cell_len(one)) for one, size in zip(row, widths, strict=True))
        yield f"{start:{wide}}  {' '.join(cells)}".rstrip()


def orders_figure(source: Sequence[str], orders: Sequence[Order], title: str, note: str) -> Figure:
    """A panel a language: the source above, the translation below, lines between them that may cross."""
    shapes: list[Shape] = [Words(GAP, TITLE - 12, shortened(one_line(title), 100), weight=600)]
    shapes.append(Words(GAP, TITLE - 12 + LINE, note, weight=300))
    y, east = TITLE + LINE + 24, 0.0
    tops, end = _placed(source)
    for order in orders:
        bottoms, far = _placed(order.words)
        east = max(east, end, far)
        shapes += [Words(x, y, one_line(word)) for (x, _), word in zip(tops, source, strict=True)]
        for one, place in order.links:
            ends = (tops[one][1], y + 6), (bottoms[place][1], y + APART - FONT)
            shapes.append(Stroke(*ends, HEADS[one % len(HEADS)], 0.9))
        shapes.append(Words(GAP, y + APART, one_line(order.language), weight=600))
        shapes += [
            Words(x, y + APART, one_line(word))
            for (x, _), word in zip(bottoms, order.words, strict=True)
        ]
        y += APART + 44
    width = max(east + GAP, 2 * GAP + LETTER * max(cell_len(title), len(note)))
    return Figure(round(width), round(y), title, tuple(shapes))


def _placed(words: Sequence[str]) -> tuple[list[tuple[float, float]], float]:
    """Where each word begins and where its middle is, and where all of them end."""
    x, columns = LEFT, []
    for word in words:
        wide = LETTER * cell_len(one_line(word))
        columns.append((x, x + wide / 2))
        x += wide + SPACE
    return columns, x
