"""Cost curves as a drawing: both axes logarithmic, so that n, n w and n² are lines of their own slope.

Colours follow the reader's light or dark page; each curve carries its name, no legend needs to be looked up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

WIDTH, HEIGHT = 860, 560
LEFT, RIGHT, TOP, BOTTOM = 84, 190, 70, 64
# Okabe and Ito 2008: told apart by colour-blind readers, and visible on white and on black.
COLOURS = ("#0072b2", "#d55e00", "#cc79a7", "#009e73", "#e69f00", "#56b4e9")
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: 600; font-size: 16px; } .small { font-size: 11.5px; fill: #57606a; }
.grid { stroke: #d0d7de; stroke-width: 1; } .guide { stroke: #8c959f; stroke-dasharray: 3 5; }
.page { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .small { fill: #9198a1; } .grid { stroke: #30363d; }
  .guide { stroke: #6e7681; } .page { fill: #0d1117; }
}
"""


@dataclass(frozen=True)
class Curve:
    """Milliseconds of some lengths, shortest first."""

    name: str
    formula: str
    points: Sequence[tuple[int, float]]

    @property
    def slope(self) -> float:
        """The exponent of the length, over the last three lengths."""
        if len(self.points) < 3:
            return math.nan
        (short, cheap), (long, dear) = self.points[-3], self.points[-1]
        return math.log(dear / cheap) / math.log(long / short)


def crossings(curves: Sequence[Curve]) -> Iterator[tuple[str, str, float]]:
    """(cheaper from here on, dearer, length) for every pair whose order turns, at its last turn."""
    for a, one in enumerate(curves):
        for other in curves[a + 1 :]:
            yield from _crossing(one, other)


def _crossing(one: Curve, other: Curve) -> Iterator[tuple[str, str, float]]:
    theirs = dict(other.points)
    shared = [(n, math.log(ms / theirs[n])) for n, ms in one.points if n in theirs]
    last = None
    for (n, gap), (more, wider) in pairwise(shared):
        if gap * wider < 0:
            last = n * (more / n) ** (gap / (gap - wider)), wider
    if last is not None:
        where, gap = last
        yield (one.name, other.name, where) if gap < 0 else (other.name, one.name, where)


def draw(curves: Sequence[Curve], title: str, told: str) -> str:
    """The chart as SVG."""
    lengths = [n for curve in curves for n, _ in curve.points]
    costs = [ms for curve in curves for _, ms in curve.points]
    spans = (
        (math.log2(min(lengths)), math.log2(max(lengths))),
        (math.floor(math.log10(min(costs))), math.ceil(math.log10(max(costs)))),
    )

    def place(n: float, ms: float) -> tuple[float, float]:
        (first, last), (low, high) = spans
        x = LEFT + (math.log2(n) - first) / (last - first) * (WIDTH - LEFT - RIGHT)
        y = HEIGHT - BOTTOM - (math.log10(ms) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)
        return x, y

    parts = [*_axes(spans, place), *_guides(spans, place)]
    ends = _apart([place(*curve.points[-1])[1] for curve in curves])
    for number, curve in enumerate(curves):
        parts += _line(curve, COLOURS[number % len(COLOURS)], ends[number], place)
    parts += _crossing_marks(curves, place)
    parts.append(f'<text class="title" x="{LEFT}" y="28">{escape(title)}</text>')
    parts.append(f'<text class="small" x="{LEFT}" y="48">{escape(told)}</text>')
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(title)}">'
    )
    page = f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", page, *parts, "</svg>", ""])


def _axes(spans, place) -> Iterator[str]:
    (first, last), (low, high) = spans
    for power in range(low, high + 1):
        x, y = place(2**first, 10.0**power)
        yield f'<line class="grid" x1="{x:.1f}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{x - 8:.1f}" y="{y + 4.5:.1f}" text-anchor="end">{10.0**power:g} ms</text>'
    for power in range(round(first), round(last) + 1):
        x, y = place(2**power, 10.0**low)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{y:.1f}"/>'
        yield f'<text x="{x:.1f}" y="{y + 20:.1f}" text-anchor="middle">{2**power:,}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 16}" text-anchor="middle">length n, positions</text>'


def _guides(spans, place) -> Iterator[str]:
    """What the slopes 1 and 2 look like, from the lower left corner."""
    (first, last), (low, high) = spans
    for slope, name, along in ((1, "slope n", 0.12), (2, "slope n²", 0.8)):
        reach = min(last - first, (high - low - 0.15) * math.log2(10) / slope)
        start, end = (2**first, 1.4 * 10.0**low), (2 ** (first + reach), 0.0)
        end = end[0], start[1] * 2 ** (slope * reach) / 1.4
        (x1, y1), (x2, y2) = place(*start), place(*end)
        yield f'<line class="guide" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        x, y = x1 + along * (x2 - x1), y1 + along * (y2 - y1)
        yield f'<text class="small" x="{x + 6:.1f}" y="{y + 14:.1f}">{name}</text>'


def _line(curve: Curve, colour: str, label: float, place) -> Iterator[str]:
    dots = [place(n, ms) for n, ms in curve.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
    for (x, y), (n, ms) in zip(dots, curve.points, strict=True):
        tip = f"<title>{escape(curve.name)}, {n:,}: {ms:.3g} ms</title>"
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}">{tip}</circle>'
    x, y = WIDTH - RIGHT + 14, label
    end = dots[-1]
    yield (
        f'<line x1="{end[0] + 4:.1f}" y1="{end[1]:.1f}" x2="{x - 3}" y2="{y:.1f}" '
        f'stroke="{colour}" stroke-opacity="0.5"/>'
    )
    words = f"{curve.name}: {curve.formula}"
    slope = "" if math.isnan(curve.slope) else f"measured n^{curve.slope:.2f}"
    yield f'<text x="{x}" y="{y + 1:.1f}" style="fill:{colour};font-weight:600">{escape(words)}</text>'
    yield f'<text class="small" x="{x}" y="{y + 15:.1f}">{slope}</text>'


def _crossing_marks(curves: Sequence[Curve], place) -> Iterator[str]:
    """A ring where two curves cross, and a thread from it down to where its length is written."""
    named = {curve.name: curve for curve in curves}
    floor = HEIGHT - BOTTOM - 10
    for cheaper, dearer, where in sorted(crossings(curves), key=lambda found: -found[2]):
        if curves[0].name not in (cheaper, dearer):
            continue  # the picture asks when it pays to leave the first curve; the rest is printed
        points = named[cheaper].points
        before = max((p for p in points if p[0] <= where), default=points[0])
        after = min((p for p in points if p[0] >= where), default=points[-1])
        share = 0.0
        if after[0] > before[0]:
            share = math.log(where / before[0]) / math.log(after[0] / before[0])
        x, y = place(where, before[1] * (after[1] / before[1]) ** share)
        tip = f"{cheaper} cheaper than {dearer} from {where:,.0f}"
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="none" stroke="#8c959f" stroke-width="1.5"/>'
        yield f'<line class="guide" x1="{x:.1f}" x2="{x:.1f}" y1="{y + 7:.1f}" y2="{floor:.1f}"/>'
        aside = (-6, "end") if x > WIDTH / 2 else (6, "start")
        yield (
            f'<text class="small" x="{x + aside[0]:.1f}" y="{floor:.1f}" '
            f'text-anchor="{aside[1]}">{escape(tip)}</text>'
        )
        floor -= 18


def _apart(heights: Sequence[float], least: float = 34.0) -> list[float]:
    """The same heights, moved so that labels do not lie on each other."""
    order = sorted(range(len(heights)), key=lambda number: heights[number])
    moved = list(heights)
    for above, below in pairwise(order):
        moved[below] = max(moved[below], moved[above] + least)
    return moved
