"""Weights as a picture in the terminal: one square a weight, with every label beside or above its squares.

heat_map(weights, rows, columns)    any matrix with names
site_map(trace)                     where a model looked, at one of its attentions
alignment(trace)                    the same between words, for a reader rather than a researcher
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from jaxtyping import Float
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import Style

from regard.errors import UsageError
from regard.show.colour import Line, Lines, Paint
from regard.show.label import Frame, one_line, padded, piece_names, shortened
from regard.tasks.axis import Times

if TYPE_CHECKING:
    from regard.traces.site import TracedSite
    from regard.traces.trace import Trace

SHARE = "share of "  # how the ribbon of a source is called
SHARES = "share of attention: answer down, sources across"
LEGEND = 20  # cells from the least weight to the most
TOPS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
AXES = {
    "source": "source",
    "places": "source",
    "target": "answer",
    "inputs": "output so far",
    "label": "answer",
    "items": "source",  # as version 0.1 called them: items, said, one
    "said": "output so far",
    "one": "answer",
}

Weights = Float[np.ndarray, "row column"]


@final
@dataclass(frozen=True, eq=False)
class HeatMap(Lines):
    """A matrix with names. What is wider than the console goes on below, or is cut and said to be."""

    weights: Weights
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    title: str
    numbers: bool
    top: float
    wrap: bool
    most_rows: int | None

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        lines = self.lines(Paint.of(console, options), options.max_width)
        widest = max(Segment.get_line_length(line) for line in lines)
        return Measurement(widest, widest)

    def lines(self, paint: Paint, width: int) -> Iterator[Line]:
        """The whole picture, line by line."""
        frame = Frame.fitting(self.rows, self.columns, width, self.numbers)
        bands = frame.bands if self.wrap else frame.bands[:1]
        strong, faint = (Style(bold=True), Style(dim=True)) if paint.has_colour else (None, None)
        if self.title:
            yield [Segment(shortened(one_line(self.title), width), strong)]
        for band in bands:
            if len(bands) > 1:
                note = f"columns {band.start + 1} to {band.stop} of {len(self.columns)}"
                yield [Segment(shortened(note, width), faint)]
            for parts in frame.heading(band):
                yield [Segment(text, faint if leads else None) for text, leads in parts]
            yield from self._body(frame, band, paint)
        if paint.has_colour or not frame.has_numbers:
            yield self._legend(frame, paint)
        for note in self._left_out(frame, bands):
            yield [Segment(shortened(note, width), faint)]

    def _body(self, frame: Frame, band: range, paint: Paint) -> Iterator[Line]:
        for name, weights in zip(frame.rows[: self.most_rows], self.weights, strict=False):
            cells = (
                paint.cell(weight / self.top, frame.cell, f"{weight:.2f}" * frame.has_numbers)
                for weight in weights[band.start : band.stop].tolist()
            )
            label = Segment(padded(name, frame.margin - 1, right=True) + " ")
            yield [label, *(Segment(text, style) for text, style in cells)]

    def _legend(self, frame: Frame, paint: Paint) -> Line:
        """From 0 to the top, in the colours of the map."""
        least, most = "0 ", f" {self.top:.3g}"
        length = max(2, min(LEGEND, frame.width - len(least + most)))
        margin = max(0, min(frame.margin, frame.width - len(least + most) - length))
        scale = [paint.mark(step / (length - 1)) for step in range(length)]
        shown = (Segment(text, style) for text, style in scale)
        return [Segment(" " * margin + least), *shown, Segment(most)]

    def _left_out(self, frame: Frame, bands: Sequence[range]) -> Iterator[str]:
        shown = sum(map(len, bands))
        if shown < len(self.columns):
            yield f"{len(self.columns) - shown} of {len(self.columns)} columns left out: no room"
        if self.most_rows is not None and self.most_rows < len(self.rows):
            left = len(self.rows) - self.most_rows
            yield f"{left} of {len(self.rows)} rows left out: no room"
        if self.numbers and not frame.has_numbers:
            yield "numbers left out: no room"


def heat_map(
    weights: Weights,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str = "",
    numbers: bool = False,
    *,
    top: float | None = 1.0,
    wrap: bool = True,
    most_rows: int | None = None,
) -> RenderableType:
    """A matrix of weights, none below 0, as squares with names.

    `top` is the weight of the lightest colour; None takes the round number just above the largest.
    """
    if weights.shape != (len(rows), len(columns)):
        shape = " x ".join(map(str, weights.shape))
        raise UsageError(
            f"a {shape} matrix does not fit {len(rows)} rows and {len(columns)} columns",
            where="weights",
            remedy="give one name for each row and each column",
        )
    finite = weights[np.isfinite(weights)]
    if finite.size and finite.min() < -1e-6:
        raise UsageError(
            f"a weight of {finite.min():g} is below 0",
            where="weights",
            remedy="give attention weights: after the softmax, not before",
        )
    largest = float(finite.max(initial=0.0))
    if top is None:
        top = min((one for one in TOPS if one >= largest), default=1.0)
    return HeatMap(
        weights, tuple(rows), tuple(columns), title, numbers, max(top, largest), wrap, most_rows
    )


def site_map(
    trace: Trace,
    site: str | None = None,
    head: int | None = None,
    *,
    title: str | None = None,
    numbers: bool = False,
    top: float | None = None,
    wrap: bool = True,
    most_rows: int | None = None,
    turned: bool = False,
) -> RenderableType:
    """Where a model looked, at one site: the mean over its heads, or one of them.

    Queries go down and keys across; `turned`, one column is one query (Rush 2015).
    """
    chosen = trace.site(site)
    weights, where = _of_head(chosen, head)
    down, across = chosen.queries, chosen.keys
    if (
        turned or len(trace.axes[down]) == 1
    ):  # one query would be a single row below a tower of labels
        weights, down, across = weights.T, across, down
    both = f"{AXES.get(down, down)} down and across"
    axes = (
        both
        if down == across
        else f"{AXES.get(down, down)} down, {AXES.get(across, across)} across"
    )
    named = f"{where}: {axes}" if title is None else title
    times = trace.axes[across]
    if isinstance(times, Times) and times.spectrogram and not numbers:
        from regard.show.spectrogram import sound_map

        return sound_map(weights, piece_names(trace.axes[down].pieces), times, named, most_rows)
    return heat_map(
        weights,
        piece_names(trace.axes[down].pieces),
        piece_names(trace.axes[across].pieces),
        named,
        numbers,
        top=top,
        wrap=wrap,
        most_rows=most_rows,
    )


def _of_head(site: TracedSite, head: int | None) -> tuple[np.ndarray, str]:
    """The weights of one head, or the mean of all; and which these are, in words."""
    count = len(site.weights)
    if head is not None and not 0 <= head < count:
        remedy = (
            f"choose 0 to {count - 1}" if count > 1 else "it has one alone: leave the choice out"
        )
        raise UsageError(f"no head {head} at '{site.path}'", where="head", remedy=remedy)
    weights = site.weights.mean(0) if head is None else site.weights[head]
    which = f"mean of {count} heads" if head is None else f"head {head} (of 0 to {count - 1})"
    return weights, f"{site.path}, {which}" if count > 1 else site.path


def shares(trace: Trace) -> RenderableType | None:
    """Which share of its attention each step gave to each source; None where sources do not compete."""
    table = share_table(trace)
    return None if table is None else heat_map(*table, SHARES, numbers=True)


def share_table(
    trace: Trace,
) -> tuple[Float[np.ndarray, "step source"], Sequence[str], Sequence[str]] | None:
    """The shares, the steps and the sources."""
    own = [one for one in trace.ribbons if one.name.startswith(SHARE)]
    if not own:
        return None
    names = [one.name.removeprefix(SHARE) for one in own]
    weights = np.array([one.values for one in own], np.float32).T
    return weights, piece_names(trace.axes[own[0].axis].pieces), names


def ribbons(trace: Trace) -> Iterator[RenderableType]:
    """Numbers along an axis, such as p_gen of each step and coverage of each word: one picture an axis."""
    for axis in trace.axes:
        own = [one for one in trace.ribbons if one.axis == axis and not one.name.startswith(SHARE)]
        if own:
            weights = np.array([one.values for one in own], np.float32)
            names = [one.name for one in own]
            title = f"{' and '.join(names)}: {AXES.get(axis, axis)} across"
            yield heat_map(
                weights, names, piece_names(trace.axes[axis].pieces), title, numbers=True
            )


def alignment(trace: Trace, numbers: bool = False, turned: bool = False) -> RenderableType:
    """Which word of the source each word of an answer comes from, as far as attention tells."""
    site, weights = trace.site(), trace.alignment()
    down, across = site.queries, site.keys
    if turned or len(trace.axes[down]) == 1:
        weights, down, across = weights.T, across, down
    rows, columns = (
        tuple(one_line(word) for word in trace.axes[side].words) for side in (down, across)
    )
    times = trace.axes[across]
    if isinstance(times, Times) and times.spectrogram and not numbers:
        from regard.show.spectrogram import sound_map

        return sound_map(weights, rows, times)
    return heat_map(weights, rows, columns, "", numbers, top=None)
