"""An unrolled encoder and decoder as a picture: time to the right, a column of colours a state (L11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich.cells import cell_len
from rich.console import RenderableType

from regard.show.figure import FONT, GAP, LINE, TITLE, Box, Dots, Figure, Shape, Stroke, Words
from regard.show.label import one_line, piece_names, shortened
from regard.show.signed import dots, scale, signed_legend, signed_map
from regard.traces.unrolled import Unrolled, UnrolledStep

LETTER = 0.62 * FONT
WIDE = 22.0  # of a state
TALL = 256.0
APART = 38.0  # from one state to the next, at least
BETWEEN = 60.0  # from the encoder to the decoder
INK = "#666666"


def maps(seen: Unrolled) -> Iterator[RenderableType]:
    """In a terminal time goes down: what is read, the state after it, and what is said."""
    for side, title in (("encoder", "encoder reads"), ("decoder", "decoder reads, and says")):
        steps = seen.of(side)
        values = np.stack([step.state for step in steps])
        names = piece_names([step.read for step in steps])
        before = [f"{step.number}  {name}" for step, name in zip(steps, names, strict=True)]
        labels = [f"{name}  {step.probability:.0%}" if step.said else ""
                for step, name in zip(steps, piece_names([s.said for s in steps]), strict=True)]  # fmt: skip
        yield signed_map(values, before, f"{title}: time down, hidden units across", "unit", labels)


def unrolled_figure(seen: Unrolled) -> Figure:
    """All time steps side by side: words that are read below, words that are said above."""
    sides = seen.of("encoder"), seen.of("decoder")
    values = np.concatenate([step.state for step in seen.steps])[None]
    top = scale(values)
    apart = max(APART, *(LETTER * cell_len(_short(one.read)) + 10 for one in seen.steps))
    apart = max(apart, *(LETTER * cell_len(_short(one.said)) + 10 for one in seen.steps))
    notes = seen.note.split("; ")
    start, above = GAP + 10.0, TITLE + (1 + len(notes)) * LINE + 16
    title = shortened(f"{one_line(str(seen.question))} \u2192 {one_line(seen.answer)}", 100)
    shapes: list[Shape] = [Words(GAP, TITLE - 12, title, weight=600)]
    for number, note in enumerate(notes):
        shapes.append(Words(GAP, TITLE - 12 + (1 + number) * LINE, note, weight=300))
    middle = above + LINE + TALL / 2
    x = start
    for number, steps in enumerate(sides):
        shapes.append(Words(x, above - 10, ("encoder", "decoder")[number], weight=600))
        shapes += _columns(steps, x, above, apart, top)
        x += apart * len(steps)
        if number == 0:
            shapes.append(Stroke((x - apart + WIDE, middle), (x + BETWEEN, middle), INK, 0.9))
            x += BETWEEN
    bottom = above + LINE + TALL + 52
    shapes += signed_legend(start, bottom, top)
    width = max(x + GAP, 2 * GAP + LETTER * max(cell_len(title), *map(len, notes)))
    return Figure(round(width), round(bottom + 30), title, tuple(shapes))


def _columns(
    steps: Sequence[UnrolledStep], x: float, above: float, apart: float, top: float
) -> Iterator[Shape]:
    """One side: each state as a column of colours, with a line from each to the next."""
    reads = piece_names([step.read for step in steps])
    says = piece_names([step.said for step in steps])
    middle = above + LINE + TALL / 2
    for number, (step, read, said) in enumerate(zip(steps, reads, says, strict=True)):
        left = x + number * apart
        if number:
            yield Stroke((left - apart + WIDE, middle), (left, middle), INK, 0.9)
        yield Words(left, above + 8, said and _short(said), weight=600)
        yield Dots(left, above + LINE, WIDE, TALL, dots(step.state[:, None], top))
        title = f"step {step.number}: reads {read}" + (
            f", says {said} with probability {step.probability:.3f}" if said else ""
        )
        yield Box(left, above + LINE + TALL, WIDE, 3, INK, one_line(title))
        yield Words(left, above + LINE + TALL + 20, _short(read))
        yield Words(left, above + LINE + TALL + 36, str(step.number), weight=300)


def _short(text: str) -> str:
    return shortened(one_line(text), 12)
