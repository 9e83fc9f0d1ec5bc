"""A reading trace: what a model looked back at as it read each word, as arcs (Cheng 2016; L31).

arcs(trace)       in the terminal: words go down as they are read, arcs stand beside them
drawing(trace)    the same as a figure: words from left to right, every arc as strong as its weight
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np
from jaxtyping import Float
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.style import Style

from regard.attention.attention import INPUTS, TARGET
from regard.errors import UsageError
from regard.show.colour import Paint
from regard.show.figure import FAINTEST, FONT, GAP, HEADS, LETTER, Box, Figure, Shape, Stroke, Words
from regard.show.label import in_ascii, one_line, padded, piece_names, shortened
from regard.traces.site import TracedSite
from regard.traces.trace import Trace

LANES = 12  # arcs side by side in a terminal; more would leave the words no room
NAMED = 2  # earlier words that each word names beside it
LEAST = 0.1  # what it names has at least so much weight
NORTH, SOUTH, EAST, WEST = 1, 2, 4, 8
LINES = {
    **{NORTH | SOUTH: "│", EAST | WEST: "─", SOUTH | EAST: "╭", NORTH | EAST: "╰"},
    **{NORTH | SOUTH | EAST: "├", NORTH | SOUTH | EAST | WEST: "┼"},
    **{SOUTH | EAST | WEST: "┬", NORTH | EAST | WEST: "┴", 0: " "},
}
PLAIN = {"│": "|", "─": "-", " ": " "}  # all others are corners
TALLEST, POINTS = 170.0, 16

Weights = Float[np.ndarray, "word earlier"]


@final
@dataclass(frozen=True, eq=False)
class Reading:
    """Words in the order they were read, and how much each looked back at each of those before it."""

    words: tuple[str, ...]
    weights: Weights
    where: str

    @classmethod
    def of(cls, trace: Trace, site: str | int | None = None, head: int | None = None) -> Reading:
        """At one site: the mean over its heads, or one of them. Looking at oneself is left out."""
        chosen = _looks_back(trace, site)
        one = chosen.weights.mean(0) if head is None else chosen.weights[chosen.checked(head)]
        names = piece_names(trace.axes[chosen.keys].pieces)
        if chosen.queries == TARGET:  # the step that said a word looked back before it was read
            names = (*names, *piece_names(trace.axes[TARGET].pieces)[-1:])
            one = np.pad(one, ((1, 0), (0, 1)))
        if np.triu(one, 1).any():
            raise UsageError(
                f"'{chosen.path}' looks ahead as well, and arcs show what was read before",
                where="--arcs",
                remedy="leave --arcs out for a map of it, or choose an attention of a decoder: --site",
            )
        return cls(tuple(map(one_line, names)), np.tril(one, -1), chosen.path)

    def named(self, word: int) -> list[tuple[int, float]]:
        """The earlier words that had most of its attention, the most first."""
        row = self.weights[word]
        best = np.argsort(-row, kind="stable")[:NAMED].tolist()
        return [(place, float(row[place])) for place in best if row[place] >= LEAST]

    def said(self, word: int) -> str:
        """The same in words."""
        return ", ".join(f"{self.words[place]} {share:.2f}" for place, share in self.named(word))


def _looks_back(trace: Trace, site: str | int | None) -> TracedSite:
    """The attention that is asked for, or the last one by which a sequence reads what came before."""
    own = [one for one in trace.sites if (one.queries, one.keys) == (TARGET, INPUTS)]
    own = own or [one for one in trace.sites if one.queries == one.keys]
    chosen = trace.site(site) if site is not None or not own else own[-1]
    if chosen.queries != chosen.keys and (chosen.queries, chosen.keys) != (TARGET, INPUTS):
        raise UsageError(
            f"'{chosen.path}' reads another text, and arcs show how one is read",
            where="--arcs",
            remedy="leave --arcs out for a map of it",
        )
    return chosen


@final
@dataclass(frozen=True, eq=False)
class Arcs:
    """The arc of each word to the earlier word that it looked at most, and beside it the numbers."""

    reading: Reading

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        paint, own = Paint.of(console, options), self.reading
        grid, left_out = lanes(own)
        widest = max(map(cell_len, own.words), default=0)
        faint = Style(dim=True) if paint.has_colour else None
        for number, word in enumerate(own.words):
            drawn = "".join(LINES[bits] for bits in grid[number])
            answered = own.said(number)
            looked = f"  \u2190 {answered}" if answered else ""
            line = shortened(f"{drawn} {padded(word, widest)}{looked}", options.max_width)
            if paint.medium == "ascii":
                line = in_ascii("".join(PLAIN.get(c, "+") if c in CORNERS else c for c in line))
            yield Segment(line.rstrip())
            yield Segment.line()
        notes = [f"{own.where}: each word, and what it looked back at, from {LEAST:g} up"]
        notes += [f"{left_out} arcs left out: no room"] if left_out else []
        for note in notes:
            yield Segment(shortened(note, options.max_width), faint)
            yield Segment.line()


CORNERS = frozenset(LINES.values()) - {" "}


def lanes(reading: Reading) -> tuple[list[list[int]], int]:
    """For each word the lines that meet in each lane, the outermost first; and how many arcs found none."""
    spans = [
        (reading.named(word)[0][0], word)
        for word in range(len(reading.words))
        if reading.named(word)
    ]
    taken: list[list[tuple[int, int]]] = []
    placed: list[tuple[int, int, int]] = []
    for first, last in sorted(spans, key=lambda span: (span[1] - span[0], span)):
        free = (n for n, lane in enumerate(taken) if all(b < first or last < a for a, b in lane))
        lane = next(free, len(taken))
        if lane == len(taken) and lane < LANES:
            taken.append([])
        if lane < LANES:
            taken[lane].append((first, last))
            placed.append((lane, first, last))
    grid = [[0] * len(taken) for _ in reading.words]
    for lane, first, last in placed:
        column = len(taken) - 1 - lane
        grid[first][column] |= SOUTH | EAST
        grid[last][column] |= NORTH | EAST
        for row in range(first + 1, last):
            grid[row][column] |= NORTH | SOUTH
        for row in (first, last):
            for inner in range(column + 1, len(taken)):
                grid[row][inner] |= EAST | WEST
    return grid, len(spans) - len(placed)


def arcs(trace: Trace, site: str | int | None = None, head: int | None = None) -> RenderableType:
    """How a text was read, as arcs in the terminal."""
    return Arcs(Reading.of(trace, site, head))


def drawing(trace: Trace, site: str | int | None = None, head: int | None = None) -> Figure:
    """How a text was read, as arcs over its words; each is as strong as its weight."""
    own = Reading.of(trace, site, head)
    middles, x = [], GAP
    for word in own.words:
        wide = LETTER * cell_len(word)
        middles.append(x + wide / 2)
        x += wide + FONT
    floor = 52.0 + TALLEST
    note = f"{own.where}; weights below {FAINTEST:g} are left out"
    title = shortened("how each word looks back: " + one_line(trace.answer.text), 120)
    shapes: list[Shape] = [Words(GAP, 22, title, weight=600), Words(GAP, 40, note, weight=300)]
    longest = max(middles[-1] - middles[0], 1.0) if middles else 1.0
    for last, first in np.argwhere(own.weights >= FAINTEST).tolist():
        share = min(1.0, float(own.weights[last, first]))
        shapes += _arc(middles[first], middles[last], floor, longest, share)
    for number, word in enumerate(own.words):
        told = f"{word} \u2190 {own.said(number)}" if own.said(number) else word
        shapes.append(Box(middles[number] - 2, floor + 3, 4, 4, HEADS[0], told))
        shapes.append(Words(middles[number] - LETTER * cell_len(word) / 2, floor + 24, word))
    width = max(x + GAP, LETTER * max(len(title), len(note)) + 2 * GAP)
    kept = tuple(one for one in shapes if not isinstance(one, Words) or one.text)
    return Figure(round(width), round(floor + 40), title, kept)


def _arc(left: float, right: float, floor: float, longest: float, share: float) -> Iterator[Shape]:
    """Half an ellipse from left to right, the higher the longer."""
    high = 16 + (TALLEST - 16) * (right - left) / longest
    angles = [math.pi * step / POINTS for step in range(POINTS + 1)]
    middle, reach = (left + right) / 2, (right - left) / 2
    points = [(middle - reach * math.cos(a), floor - high * math.sin(a)) for a in angles]
    for start, end in pairwise(points):
        yield Stroke(start, end, HEADS[0], share)
