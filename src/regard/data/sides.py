"""Which side a text belongs to, by the three-letter pieces it is made of: finds swapped languages."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import final

from regard.data.example import Pair

# A text leans to a side when its pieces are, on average, e times as frequent there.
CLEAR_LEAN = 1.0
FEWEST_PIECES = 8


@final
class Sides:
    """The pieces of the source side and of the target side of some pairs."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.source = Counter(_pieces_of(pair.source for pair in pairs))
        self.target = Counter(_pieces_of(pair.target for pair in pairs))
        known = len(self.source | self.target)
        self.source_total = self.source.total() + known
        self.target_total = self.target.total() + known

    def lean(self, text: str) -> float:
        """The mean of log P(piece | source) - log P(piece | target), each count one higher."""
        pieces = list(_pieces(text))
        if len(pieces) < FEWEST_PIECES:
            return 0.0
        odds = sum(math.log((self.source[p] + 1) / (self.target[p] + 1)) for p in pieces)
        return odds / len(pieces) + math.log(self.target_total / self.source_total)

    def swapped(self, pair: Pair) -> bool:
        """Both texts lean clearly to the side where they do not stand."""
        return self.lean(pair.source) < -CLEAR_LEAN and self.lean(pair.target) > CLEAR_LEAN

    def mostly_swapped(self, pairs: Sequence[Pair]) -> bool:
        """Whether other pairs, taken together, stand the other way round."""
        if not pairs:
            return False
        source = sum(self.lean(pair.source) for pair in pairs) / len(pairs)
        target = sum(self.lean(pair.target) for pair in pairs) / len(pairs)
        return source < -CLEAR_LEAN / 2 and target > CLEAR_LEAN / 2


def _pieces_of(texts: Iterable[str]) -> Iterator[str]:
    return (piece for text in texts for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    padded = f" {text[:1000].lower()} "
    return (padded[index : index + 3] for index in range(len(padded) - 2))
