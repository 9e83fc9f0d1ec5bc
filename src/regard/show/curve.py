"""Numbers over time, drawn with blocks that are filled from below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from regard.show.colour import BLOCKS

EIGHTHS = len(BLOCKS) - 1


def thinned(values: Sequence[float], width: int) -> list[float]:
    """At most `width` values in their order: where there are more, means of neighbours."""
    finite = [value for value in values if math.isfinite(value)]
    count = min(width, len(finite))
    cuts = [len(finite) * number // count for number in range(count + 1)] if count else []
    return [math.fsum(finite[start:stop]) / (stop - start) for start, stop in pairwise(cuts)]


def curve(values: Sequence[float], height: int = 1) -> list[str]:
    """The lines of a picture, a column a value.

    The lowest value still has the thinnest block, so that every place in time is seen.
    """
    low, high = min(values, default=0.0), max(values, default=0.0)
    spread = high - low or 1.0
    tall = [1 + round((value - low) / spread * (height * EIGHTHS - 1)) for value in values]
    return ["".join(_block(one, floor) for one in tall) for floor in reversed(range(height))]


def _block(tall: int, floor: int) -> str:
    return BLOCKS[min(max(tall - floor * EIGHTHS, 0), EIGHTHS)]
