"""A sound along the side of a map in a terminal: its spectrogram above the weights, and light is loud."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float
from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style

from regard.data import png
from regard.show.colour import Line, Lines, Paint
from regard.show.heatmap import TOPS
from regard.show.label import one_line, padded, shortened
from regard.tasks.axis import Times
from regard.traces.word_times import state_edges

HIGH = 6  # lines of a spectrogram in a terminal
TICK = 8  # cells from one moment that is named to the next, at least
LONGEST = 16  # cells of a row's name

Weights = Float[np.ndarray, "row state"]


def spectrogram(times: Times) -> Float[np.ndarray, "band frame"]:
    """The picture that the axis carries, as shares of the loudest; the high frequencies come first."""
    data = png.from_url(times.spectrogram)
    pixels = None if data is None else png.decode(data)
    return np.zeros((1, 1), np.float32) if pixels is None else pixels[:, :, 0] / np.float32(255)


def heard_at(times: Times, columns: int) -> Float[np.ndarray, "band column"]:
    """The spectrogram in so many columns of equal width, which share the states among them."""
    picture, edges = spectrogram(times), state_edges(times)
    places = (np.arange(columns) + 0.5) * (len(edges) - 1) / columns
    moments = np.interp(places, np.arange(len(edges)), edges)
    frames = (moments / max(edges[-1], 1e-9) * picture.shape[1]).astype(int)
    return picture[:, np.clip(frames, 0, picture.shape[1] - 1)]


@final
@dataclass(frozen=True, eq=False)
class SoundMap(Lines):
    """Weights over the states of a sound, below its spectrogram; what is too long for a line is summed."""

    weights: Weights
    rows: tuple[str, ...]
    times: Times
    title: str
    most_rows: int | None = None

    def lines(self, paint: Paint, width: int) -> Iterator[Line]:
        margin = min(LONGEST, max(map(len, self.rows), default=0)) + 1
        states = self.weights.shape[1]
        room = max(1, width - margin)
        cell = 2 if 2 * states <= room else 1
        each = -(-states // (room // cell))  # states a column
        columns = -(-states // each)
        strong, faint = (Style(bold=True), Style(dim=True)) if paint.has_colour else (None, None)
        if self.title:
            yield [Segment(shortened(one_line(self.title), width), strong)]
        yield from self._sound(paint, margin, columns * cell)
        yield [Segment(self._moments(margin, columns * cell, each / cell), faint)]
        filled = np.pad(self.weights, ((0, 0), (0, columns * each - states)))
        shares = filled.reshape(len(self.rows), columns, each).sum(2)
        most = float(np.nan_to_num(shares).max(initial=0.0))
        top = min((one for one in TOPS if one >= most), default=max(1.0, most))
        for name, own in list(zip(self.rows, shares, strict=True))[: self.most_rows]:
            label = Segment(padded(shortened(one_line(name), margin - 1), margin - 1, right=True))
            cells = (paint.cell(float(share) / top, cell) for share in own)
            yield [label, Segment(" "), *(Segment(text, style) for text, style in cells)]
        most_marks = max(2, min(20, width - margin - len(f"0  {top:.3g}")))
        scale = [paint.mark(step / (most_marks - 1)) for step in range(most_marks)]
        marks = (Segment(text, style) for text, style in scale)
        yield [Segment(" " * margin + "0 "), *marks, Segment(f" {top:.3g}")]
        if each > 1:
            note = f"{each} states a column: no room"
            yield [Segment(shortened(note, width), faint)]

    def _sound(self, paint: Paint, margin: int, wide: int) -> Iterator[Line]:
        picture = heard_at(self.times, wide)
        for some in np.array_split(picture, min(HIGH, len(picture))):
            cells = (paint.cell(float(share), 1) for share in some.mean(0))
            yield [Segment(" " * margin), *(Segment(text, style) for text, style in cells)]

    def _moments(self, margin: int, wide: int, states: float) -> str:
        """Seconds, each where its cell begins; `states` is how many a cell has."""
        edges, line = state_edges(self.times), " " * margin
        for place in range(0, wide, TICK):
            moment = np.interp(place * states, np.arange(len(edges)), edges)
            line += f"|{moment:.2f} s".ljust(TICK)
        return line[: margin + wide + TICK].rstrip()


def sound_map(
    weights: Weights,
    rows: Sequence[str],
    times: Times,
    title: str = "",
    most_rows: int | None = None,
) -> RenderableType:
    """Where a model looked in a sound: answer down, time across."""
    return SoundMap(weights, tuple(rows), times, title, most_rows)
