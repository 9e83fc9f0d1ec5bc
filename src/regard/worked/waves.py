"""The table of sinusoidal positions, cell by cell (L42-L46)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regard.attention import Learned, sinusoid
from regard.attention.position import period
from regard.errors import UsageError
from regard.worked.example import Slip, Step, Worked
from regard.worked.given import Number, numbered, plain, positive, seeded

SLIPS = (
    Slip(
        "L45",
        "one step on",
        "exponents 2*1/d, .., 2*(d/2)/d",
        "exponents 0, 2/d, .., (d-2)/d",
        "Counted from 1 the fastest wave is lost: with d = 4 and n = 100 the frequencies are 1/10 and 1/100 "
        "instead of 1 and 1/10. The same lecture then says 0 <= i < d/2, which is right.",
    ),
    Slip(
        "L46",
        "learned",
        "E_pos of shape 1 x N",
        "E_pos of shape N x d",
        "A learned position is a vector like a word's, and there are N of them.",
    ),
)


def wave(position: Number, dimension: int, width: int, base: float) -> float:
    """One cell at any position, whole or not: a sine at an even dimension, a cosine at an odd one."""
    try:
        angle = 2 * math.pi * position / period(dimension // 2, width, base)
    except ArithmeticError:
        angle = math.inf
    if not math.isfinite(angle):
        what = f"waves of base {base} are shorter or longer than numbers can say"
        raise UsageError(what, "base", "take one between 1 and 1,000,000")
    return math.cos(angle) if dimension % 2 else math.sin(angle)


def position_table(
    words: Sequence[str] = ("I", "am", "a", "robot"), width: int = 4, base: Number = 100.0
) -> Worked:
    """One row a word, in both layouts, and the table as one slide counts it."""
    positive(words=len(words), width=width, base=base)
    count, labels, base = len(words), tuple(words), float(base)
    pairs = (width + 1) // 2
    columns = tuple(f"{'cos' if n % 2 else 'sin'} i={n // 2}" for n in range(width))
    halves = tuple(sorted(columns, key=lambda name: not name.startswith("sin")))
    periods = tuple(period(i, width, base) for i in range(pairs))
    return Worked(
        formula="PE(pos, 2i)   = sin(pos / n^(2i/d))\nPE(pos, 2i+1) = cos(pos / n^(2i/d))",
        given=(
            Step("words", "pos = 0, 1, ..", labels),
            Step("width", "d", width),
            Step("base", "n", base, note="10,000 in most models."),
        ),
        steps=(
            Step(
                "frequencies",
                "1 / n^(2i/d)",
                tuple(2 * math.pi / one for one in periods),
                columns=numbered("i = ", pairs, 0),
            ),
            Step("periods", "2 pi n^(2i/d)", periods, columns=numbered("i = ", pairs, 0)),
            Step(
                "halves",
                "sines left, cosines right (L44)",
                plain(sinusoid(count, width, base=base, layout="halves")),
                labels,
                halves,
                note="The same columns in another order: a model cannot tell the difference.",
            ),
            Step(
                "one step on",
                "exponents counted from 1",
                tuple(
                    tuple(wave(position, n + 2, width, base) for n in range(width))
                    for position in range(count)
                ),
                labels,
                columns,
            ),
            Step(
                "learned", "the shape of E_pos: one vector a position (L46)", _learned(count, width)
            ),
        ),
        result=Step(
            "interleaved",
            "sine, cosine, sine, cosine (L42)",
            plain(sinusoid(count, width, base=base)),
            labels,
            columns,
        ),
        slips=SLIPS,
    )


def _learned(count: int, width: int) -> tuple[int, ...]:
    with seeded(0):
        return tuple(Learned(width, count).weight.shape)
