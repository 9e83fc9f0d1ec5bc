"""A trace as a drawing, whatever its sides are: squares with names, pictures under maps, a sound below it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from regard.attention.attention import TARGET
from regard.data import image
from regard.show import figure
from regard.show.colour import cividis
from regard.show.figure import (
    FONT,
    GAP,
    HEADS,
    LETTER,
    LINE,
    Box,
    Dots,
    Figure,
    Shape,
    Words,
    finished,
    heading,
    label_of,
    legend,
    one_map,
    title_of,
    width_of,
)
from regard.show.heatmap import SHARES, TOPS, share_table
from regard.show.label import one_line, shortened
from regard.show.overlay import (
    MANNERS,
    Manner,
    draws_pictures,
    ground,
    overlaid,
    shown_in,
    size_for,
)
from regard.tasks.axis import Grid, Times
from regard.traces.trace import Trace
from regard.traces.word_times import WordTime, word_times

PANEL = 160.0  # the height of one picture, and of a strip at most three times its width
FINE = (96, 288)  # the least and the most dots that a picture is high
ACROSS = 880.0  # the width of several pictures beside each other, and of a sound
ROW, SOUND = 22.0, 110.0  # the height of a word's row of weights, and of the sound below them
BAR = 5.0  # the height of the bar that says when a word was said
SOFT = "#7a7a7a"


def drawing(
    trace: Trace,
    site: str | int | None = None,
    head: int | None = None,
    *,
    words: bool = False,
    turned: bool = False,
    manner: Manner = "cells",
) -> Figure:
    """One site of a trace, one head or the mean of all: over its picture, over its sound, or as squares.

    Where neither is chosen and there are several sources: every source's map, and the share that each had.
    """
    chosen = trace.site(site)
    several = trace.beside(chosen) if site is None and head is None else []
    if len(several) < 2:
        return _one(trace, site, head, words, turned, manner, title_of(trace))
    drawn = [_one(trace, one.path, None, words, turned, manner, "") for one in several]
    shared = share_table(trace)
    if shared is not None:
        weights, rows, names = shared
        drawn.append(figure.heat_map(weights, rows, names, "", SHARES))
    return figure.stacked(drawn, title_of(trace))


def _one(
    trace: Trace,
    site: str | int | None,
    head: int | None,
    words: bool,
    turned: bool,
    manner: Manner,
    title: str,
) -> Figure:
    chosen = trace.site(site)
    keys = trace.axes[chosen.keys]
    if draws_pictures(trace, chosen.path) and isinstance(keys, Grid):
        names, _, weights, where = one_map(trace, site, head, words)
        return pictures(keys, names, weights, title, where, manner)
    if isinstance(keys, Times) and not isinstance(trace.axes[chosen.queries], Times):
        names, _, weights, where = one_map(trace, site, head, words)
        times = word_times(trace, chosen.path) if chosen.queries == TARGET else ()
        return sound(keys, names, weights, title, where, times)
    return figure.drawing(trace, site, head, words=words, turned=turned, title=title)


def pictures(
    axis: Grid,
    names: Sequence[str],
    weights: Float[np.ndarray, "word cell"],
    title: str,
    where: str,
    manner: Manner = "cells",
) -> Figure:
    """The picture, then one for each word with its weights over it."""
    high, wide = (float(side) for side in size_for(axis, int(PANEL), int(3 * PANEL)))
    seen = shown_in(axis.picture)
    fine = int(np.clip(0 if seen is None else seen.shape[0], *FINE))
    dots = size_for(axis, fine, 3 * fine)
    beside = max(1, min(len(names) + 1, int((ACROSS + GAP) // (wide + GAP))))
    width = max(beside * (wide + GAP) + GAP, figure.NARROWEST)
    note = (
        f"{where}; gold is where a word looked, {MANNERS[manner]}; below each is its largest weight"
    )
    shapes, end = heading(title, note, width)
    plain = ground(axis, *dots)
    drawn = (overlaid(axis, row, dots, manner) for row in weights)
    labels = [
        f"{label_of(name)}  {row.max(initial=0.0):.2f}"
        for name, row in zip(names, weights, strict=True)
    ]
    pitch = high + LINE + GAP
    for number, (name, colours) in enumerate(
        zip(["the picture", *labels], (plain, *drawn), strict=True)
    ):
        x, y = GAP + number % beside * (wide + GAP), end + number // beside * pitch
        shapes += [Dots(x, y, wide, high, colours), Words(x, y + high + FONT + 1, name)]
    lines = math.ceil((len(names) + 1) / beside)
    return finished(width, end + lines * pitch, title, shapes)


def sound(
    axis: Times,
    names: Sequence[str],
    weights: Float[np.ndarray, "word moment"],
    title: str,
    where: str,
    said: Sequence[WordTime] = (),
) -> Figure:
    """Words down, seconds across, and below them what was heard: its spectrogram, or else how loud it was.

    A bar below that is as long as each word took, as far as attention tells.
    """
    left = float(
        math.ceil(GAP + max((width_of(label_of(name)) for name in names), default=0.0) + 8)
    )
    note = f"{where}; each row is one word, and seconds go across"
    width = left + ACROSS + GAP
    shapes, top = heading(title, note, width)
    most = min((one for one in TOPS if one >= weights.max(initial=0.0)), default=1.0)
    table = np.array([cividis(step / 255) for step in range(256)], np.uint8)
    for number, (name, row) in enumerate(zip(names, weights, strict=True)):
        y = top + number * ROW
        shares = np.clip(np.nan_to_num(row) / most, 0, 1)
        cells = table[np.rint(shares * 255).astype(np.uint8)][None]
        shapes.append(Dots(left, y, ACROSS, ROW - 1, cells))
        shapes.append(Words(left - 8, y + ROW / 2 + 4.5, label_of(name), "end"))
    floor = top + len(names) * ROW + 8
    shapes += heard(axis, left, floor)
    shapes += seconds(axis, left, floor + SOUND + FONT + 4)
    below = floor + SOUND + 2 * LINE
    if said:
        shapes += bars(axis, said, left, below - 6)
        below += 2 * LINE
    shapes += legend(left, below, most)
    return finished(width, below + 2 * LINE, title, shapes)


def bars(axis: Times, said: Sequence[WordTime], left: float, top: float) -> Iterator[Shape]:
    """A bar from the beginning to the end of each word, and the word below it, as much of it as fits."""
    first, end = span(axis)
    for number, word in enumerate(said):
        begin, stop = (
            left + ACROSS * (one - first) / (end - first) for one in (word.begin, word.end)
        )
        title = f"{one_line(word.word)}: {word.begin:.2f} to {word.end:.2f} s"
        yield Box(begin, top, max(1.0, stop - begin), BAR, HEADS[number % 2], title)
        letters = max(1, int((stop - begin) / LETTER) + 1)
        yield Words(begin, top + BAR + FONT, shortened(one_line(word.word), letters))


def heard(axis: Times, left: float, top: float) -> Iterator[Shape]:
    """The spectrogram; where there is none, a bar as high as each stretch was loud."""
    seen = shown_in(axis.spectrogram)
    if seen is not None:
        fitting = image.resized(seen, min(len(seen), 256), min(seen.shape[1], 2048))
        yield Dots(left, top, ACROSS, SOUND, fitting)
        return
    loud = np.abs(np.nan_to_num(np.array(axis.waveform, np.float32)))
    if not loud.size:
        return
    several = np.array_split(loud, min(len(loud), int(ACROSS / 2)))
    peaks = np.array([some.max() for some in several]) / max(float(loud.max()), 1e-9)
    step = ACROSS / len(peaks)
    for number, peak in enumerate(peaks.tolist()):
        high = max(1.0, peak * SOUND)
        yield Box(left + number * step, top + (SOUND - high) / 2, max(0.5, step - 0.4), high, SOFT)


def seconds(axis: Times, left: float, y: float, ticks: int = 5) -> Iterator[Shape]:
    """A scale from the first moment to the end of the last."""
    first, end = span(axis)
    for tick in range(ticks + 1):
        moment = first + (end - first) * tick / ticks
        name = f"{moment:.{2 if end - first < 10 else 1}f} s"
        x = left + ACROSS * tick / ticks
        yield Words(x, y, name, "end") if tick == ticks else Words(x, y, name)


def span(axis: Times) -> tuple[float, float]:
    """From the beginning to the end of the sound; where that is not known, by the moments alone."""
    if axis.until > 0:
        return 0.0, axis.until
    moments = axis.seconds or (0.0,)
    step = moments[-1] - moments[-2] if len(moments) > 1 else 1.0
    return moments[0], moments[-1] + max(step, 1e-3)
