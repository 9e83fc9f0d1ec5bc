"""How long each wave of a position takes to repeat (L49, L50)."""

from __future__ import annotations

from collections.abc import Sequence

from regard.attention.position import period
from regard.errors import UsageError
from regard.worked.example import Slip, Step, Worked
from regard.worked.given import Number, Numbers, numbered, positive
from regard.worked.waves import wave

# The slide's picture stands at no whole position; these give its sixteen numbers within 0.0005.
POSITIONS = (1.384, 8.994, 5.535, 2.076)

SLIPS = (
    Slip(
        "L49",
        "period",
        62832,
        43469,
        "The slide takes 10000^(48/50) for 10000 and arrives at 20,000 pi. It is 6918.3, and 2 pi times that "
        "is 43,469.",
    ),
    Slip(
        "L50",
        "rows",
        "i = 3, 4, 5, 6",
        "dimensions 2, 3, 4, 5",
        "The labels begin beside the heading, one row too high, so that each row of numbers carries the "
        "label of the next.",
    ),
)


def position_periods(
    width: int = 50,
    base: Number = 10000.0,
    index: int = 48,
    widths: Sequence[int] = (50, 100, 200, 512),
    positions: Numbers = POSITIONS,
) -> Worked:
    """Periods grow along a vector; the first never changes, the others grow as vectors get narrower."""
    positive(width=width, base=base, widths=min(widths, default=0))
    if not 0 <= index < width:
        raise UsageError(
            f"index must be in 0..{width - 1}; it is {index}",
            where="index",
            remedy=f"take 0 for the first number of a vector, {width - 1} for the last",
        )
    base = float(base)
    pairs = (0, 1, 2, 3)
    dimensions = (2, 3, 4, 5)
    exponent = 2 * (index // 2) / width
    return Worked(
        formula="period of pair i = 2 pi n^(2i/d);  index 2i is its sine, 2i+1 its cosine",
        given=(
            Step("width", "d", width),
            Step("base", "n", base),
            Step("index", "2i", index),
            Step("positions", "pos, read off the slide's table", tuple(map(float, positions))),
        ),
        steps=(
            Step(
                "by width",
                "the first pair is constant, the others grow as d falls",
                tuple(tuple(period(i, d, base) for i in pairs) for d in widths),
                tuple(f"d = {one}" for one in widths),
                numbered("i = ", len(pairs), 0),
            ),
            Step(
                "rows",
                "PE(pos, dimension)",
                tuple(tuple(wave(at, n, width, base) for at in positions) for n in dimensions),
                tuple(f"dimension {n}" for n in dimensions),
                numbered("p_", len(positions), 0),
            ),
            Step("power", f"n^({2 * (index // 2)}/{width})", base**exponent),
        ),
        result=Step("period", "2 pi n^(2i/d)", period(index // 2, width, base)),
        slips=SLIPS,
    )


def numbered_widths(widths: Sequence[int]) -> tuple[str, ...]:
    """d = 50, d = 100, .."""
    return tuple(f"d = {width}" for width in widths)
