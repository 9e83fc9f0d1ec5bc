"""The picture under the map: one small picture a word, dim, and gold where that word looked (Xu 2015).

cells     one square a weight: what the model has, and nothing else
smooth    what lies between the centres of the cells is interpolated, as papers draw it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, final

import numpy as np
from jaxtyping import Float
from rich.cells import cell_len
from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style

from regard.data import image
from regard.errors import RegardError
from regard.show.colour import Line, Lines, Paint
from regard.show.heatmap import alignment, shares, site_map
from regard.show.label import one_line, padded, piece_names, shortened
from regard.show.thumbnail import Dots, halves
from regard.tasks.axis import Grid

if TYPE_CHECKING:
    from regard.traces.trace import Trace

Manner = Literal["cells", "smooth"]
MANNERS: dict[Manner, str] = {
    "cells": "one square a weight",
    "smooth": "smooth: interpolated between the centres of the cells",
}
GOLD = (245, 180, 0)
DIM, STRONGEST = (
    0.5,
    0.8,
)  # of the picture where nobody looks; of the gold where the weight is largest
NOWHERE = 60  # the grey of cells, or parts of them, that no picture lies under
HALVES = 24  # half lines of a terminal that a picture may be high
GAP = 2


def shown_in(url: str) -> Dots | None:
    """The picture that a data URL holds, in three colours; None where it holds none, or a broken one."""
    if not url.startswith("data:image/"):  # anything else could name a file
        return None
    try:
        picture = image.read(url)
    except RegardError:
        return None
    return picture.repeat(3, 2) if picture.shape[2] == 1 else picture


def ground(axis: Grid, rows: int, columns: int) -> Dots:
    """The picture where it lies under its grid, whose last cells may reach beyond it, at another size."""
    canvas = np.full((rows, columns, 3), NOWHERE, np.uint8)
    picture = shown_in(axis.picture)
    if picture is not None:
        down, across = (float(np.clip(one, 0.01, 1.0)) for one in axis.covered)
        high, wide = max(1, round(rows * down)), max(1, round(columns * across))
        canvas[:high, :wide] = image.resized(picture, high, wide)
    return canvas


def overlaid(
    axis: Grid, weights: Float[np.ndarray, " cell"], size: tuple[int, int], manner: Manner
) -> Dots:
    """The picture at half its light, and over it gold, as strong as a weight over the largest of them."""
    cells = np.nan_to_num(weights).reshape(axis.columns, axis.rows).T
    shares = (cells / max(float(cells.max(initial=0.0)), 1e-9)).clip(0.0, 1.0)
    rows, columns = size
    if manner == "cells" and rows >= axis.rows and columns >= axis.columns:
        down, across = (
            (np.arange(new) + 0.5) * old // new
            for new, old in ((rows, axis.rows), (columns, axis.columns))
        )
        spread = shares[np.ix_(down.astype(int), across.astype(int))]
    else:
        spread = image.spread(axis.rows, rows) @ shares @ image.spread(axis.columns, columns).T
    gold = STRONGEST * spread[..., None]
    mixed = DIM * ground(axis, rows, columns) * (1.0 - gold) + np.array(GOLD) * gold
    return np.rint(mixed).clip(0, 255).astype(np.uint8)


def size_for(axis: Grid, high: int, wide: int) -> tuple[int, int]:
    """Rows and columns of dots for the whole grid, no more than these, cells being squares."""
    scale = min(high / axis.rows, wide / axis.columns)
    return max(1, round(axis.rows * scale)), max(1, round(axis.columns * scale))


@final
@dataclass(frozen=True, eq=False)
class PictureMaps(Lines):
    """The picture, and one for each word; in half blocks, two dots to a letter's place."""

    axis: Grid
    words: tuple[str, ...]
    weights: Float[np.ndarray, "word cell"]
    title: str
    manner: Manner

    def lines(self, paint: Paint, width: int) -> Iterator[Line]:
        strong, faint = (Style(bold=True), Style(dim=True)) if paint.has_colour else (None, None)
        yield [Segment(shortened(one_line(self.title), width), strong)]
        panels = list(self._panels(paint, width))
        widest = max((wide for _, _, wide in panels), default=1)
        beside = max(1, (width + GAP) // (widest + GAP))
        for first in range(0, len(panels), beside):
            some = panels[first : first + beside]
            for parts in zip(*(drawn for _, drawn, _ in some), strict=True):
                yield [piece for part in parts for piece in (*part, Segment(" " * GAP))]
            names = (padded(shortened(name, widest), widest + GAP) for name, _, _ in some)
            yield [Segment(name) for name in names]
        notes = [f"Gold is where a word looked, {MANNERS[self.manner]}."]
        if not paint.has_colour:
            more = ", or a smooth map," if self.manner == "smooth" else ""
            notes = [
                f"More ink is more weight, {MANNERS['cells']}.",
                f"The picture itself{more} needs a terminal with colours.",
            ]
        for note in (*notes, "The number is the largest weight of a word."):
            yield [Segment(shortened(note, width), faint)]

    def _panels(self, paint: Paint, width: int) -> Iterator[tuple[str, list[Line], int]]:
        """A name, the lines, and how wide they are."""
        names = [f"{one_line(word)} {row.max(initial=0.0):.2f}" for word, row in self._rows()]
        if not paint.has_colour:
            wide = max(2 * self.axis.columns, max(map(cell_len, names), default=1))
            for name, (_, row) in zip(names, self._rows(), strict=True):
                yield name, self._inked(paint, row, wide), wide
            return
        rows, columns = size_for(self.axis, HALVES, width)
        wide = min(width, max(columns, max(map(cell_len, names), default=1)))
        plain = ground(self.axis, rows, columns)
        drawn = (overlaid(self.axis, row, (rows, columns), self.manner) for _, row in self._rows())
        for name, dots in zip(["the picture", *names], (plain, *drawn), strict=True):
            yield name, list(halves(dots, wide)), wide

    def _rows(self) -> Iterator[tuple[str, Float[np.ndarray, " cell"]]]:
        return zip(self.words, self.weights, strict=True)

    def _inked(self, paint: Paint, weights: np.ndarray, wide: int) -> list[Line]:
        """Without colours: more ink, more weight."""
        most = max(float(weights.max(initial=0.0)), 1e-9)
        cells = weights.reshape(self.axis.columns, self.axis.rows).T / most
        rest = Segment(" " * (wide - 2 * self.axis.columns))
        return [[*(Segment(*paint.cell(one, 2)) for one in row.tolist()), rest] for row in cells]


def draws_pictures(trace: Trace, site: str | int | None) -> bool:
    """Whether words look at the cells of a picture there."""
    chosen = trace.site(site)
    return isinstance(trace.axes[chosen.keys], Grid) and not isinstance(
        trace.axes[chosen.queries], Grid
    )


def picture_maps(
    trace: Trace,
    site: str | None = None,
    head: int | None = None,
    *,
    manner: Manner = "cells",
    numbers: bool = False,
    turned: bool = False,
) -> RenderableType:
    """Where each word looked in a picture; anything else, or with numbers, as a map of squares with names."""
    if numbers or not draws_pictures(trace, site):
        return site_map(trace, site, head, numbers=numbers, turned=turned)
    chosen = trace.site(site)
    axis = trace.axes[chosen.keys]
    assert isinstance(axis, Grid)
    one = chosen.weights.mean(0) if head is None else chosen.weights[chosen.checked(head)]
    names = piece_names(trace.axes[chosen.queries].pieces)
    return PictureMaps(axis, names, one, _title(trace, site, head), manner)


def maps(
    trace: Trace, *, manner: Manner = "cells", numbers: bool = False, turned: bool = False
) -> list[RenderableType]:
    """What is drawn where no attention was chosen: whole words where they align, else every source's map."""
    if trace.look is not None and not draws_pictures(trace, None):
        return [alignment(trace, numbers, turned)]
    several = trace.beside(trace.site())
    draw = partial(picture_maps, trace, manner=manner, numbers=numbers, turned=turned)
    if len(several) < 2:
        return [draw()]
    shared = shares(trace)
    return [*(draw(one.path) for one in several), *([] if shared is None else [shared])]


def _title(trace: Trace, site: str | None, head: int | None) -> str:
    chosen = trace.site(site)
    which = f"mean of {chosen.heads} heads" if head is None else f"head {head}"
    where = f"{chosen.path}, {which}" if chosen.heads > 1 else chosen.path
    axis = trace.axes[chosen.keys]
    assert isinstance(axis, Grid)
    return f"{where}: {axis.rows} x {axis.columns} cells"
