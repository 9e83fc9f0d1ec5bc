"""Two files that should go side by side and do not: where they part, and which languages are swapped.

Lengths of lines that belong together rise and fall together. Line i of the shorter file goes with line
i + s of the longer one, and the shift s can only grow, from 0 to the difference of the counts; dynamic
programming finds the shifts that fit the lengths best, and so the first line where s leaves 0.

Which side a text belongs to is told by the three-letter pieces it is made of.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import final

import numpy as np

from regard.data.example import Pair
from regard.data.lines import count_lines, read_lines
from regard.errors import DataError

MOST_LINES = 500_000  # beyond them no drift is looked for, to bound memory
MOST_SHIFTS = 8
CHANCE = 1.5  # a better fit by less than this, in units of log length, proves no shift
OTHER_LINE_ENDS = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
NAMES = {"\r": "a lone \\r", "\x0b": "a vertical tab", "\x0c": "a form feed"}


def uneven(first: Path, second: Path) -> DataError:
    """The error for two files whose counts differ: both counts, where they drift, and a likely cause."""
    counts = {first: count_lines(first), second: count_lines(second)}
    short, long = sorted((first, second), key=lambda path: counts[path])
    drift = _drift(short, counts[short], long, counts[long])
    where, advice = f"{short} and {long}", _general_advice()
    if drift == counts[short]:
        where = f"{short}:{drift}: they go together up to here, where {short.name} ends"
        advice = f"was {short.name} cut short?"
    elif drift is not None:
        where = f"{long}:{drift + 1}: about here the lengths stop going together"
    return DataError(
        f"{first.name} has {counts[first]:,} lines, but {second.name} has {counts[second]:,}",
        where=where,
        remedy=_cause(short) or _cause(long) or advice,
    )


def refuse_uneven(first: Path, second: Path) -> None:
    """Raise `uneven` unless both files have the same number of lines."""
    if count_lines(first) != count_lines(second):
        raise uneven(first, second)


def first_drift(short: np.ndarray, long: np.ndarray, extra: int, complete: bool) -> int | None:
    """How many lines go together before the first one that is only in the longer file.

    `extra` is the difference of the counts. Without `complete`, the lengths are those of a
    beginning, and None says that nothing drifts in it.
    """
    shifts = sorted({*range(min(extra, MOST_SHIFTS) + 1), extra})
    costs = [_mismatch(short, long, shift) for shift in shifts]
    best = [costs[0]]
    for cost in costs[1:]:
        best.append(cost + np.minimum.accumulate(best[-1] - cost))
    state = len(shifts) - 1
    if not complete:  # any shift may come last; each has to earn its place
        state = int(np.argmin([total[-1] + CHANCE * index for index, total in enumerate(best)]))
    if state == 0:
        return None
    position = len(short)
    if complete and costs[0][-1] - best[-1][-1] < CHANCE:
        return position  # all of it goes together as well as can be: the longer one just goes on
    for index in range(state, 0, -1):
        reachable = (best[index - 1] - costs[index])[: position + 1]
        position = position - int(np.argmin(reachable[::-1]))  # the last of equally good ones
    return position


def _mismatch(short: np.ndarray, long: np.ndarray, shift: int) -> np.ndarray:
    """Summed from the beginning: how far the lengths are from their usual ratio at this shift."""
    usual = np.log((long.mean() + 5) / (short.mean() + 5))
    facing = np.full(len(short), -1.0)
    beside = long[shift : shift + len(short)]
    facing[: len(beside)] = np.log((beside + 5.0) / (short[: len(beside)] + 5.0)) - usual
    return np.concatenate([[0.0], np.cumsum(np.minimum(np.abs(facing), 2.0))])


def _lengths(path: Path, count: int) -> np.ndarray:
    lines = islice(read_lines(path, on_bad_utf8="skip"), count)
    return np.fromiter((len(line.text) for line in lines), np.int32)


def _drift(short: Path, short_count: int, long: Path, long_count: int) -> int | None:
    if short_count == 0:
        return 0
    lengths = _lengths(short, MOST_LINES), _lengths(long, MOST_LINES)
    return first_drift(*lengths, extra=long_count - short_count, complete=long_count <= MOST_LINES)


def _cause(path: Path) -> str:
    """The character at which other tools split lines, if the file holds one."""
    seen: Counter[str] = Counter()
    first: dict[str, int] = {}
    for line in read_lines(path, on_bad_utf8="skip"):
        for character in set(OTHER_LINE_ENDS.findall(line.text)):
            seen[character] += 1
            first.setdefault(character, line.number)
    if not seen:
        return ""
    character, count = seen.most_common(1)[0]
    more = "" if count == 1 else f" and on {count - 1:,} more"
    return (
        f"{path.name} holds {line_end_name(character)} on line {first[character]:,}{more}: "
        "some tools end a line there, regard at \\n only; write both files again with one tool"
    )


def line_end_name(character: str) -> str:
    """`U+2028`, or the words people use."""
    return NAMES.get(character, f"U+{ord(character):04X}")


def _general_advice() -> str:
    return (
        "regard ends a line at \\n only; did a tool end lines at U+2028, U+0085 or a lone \\r, too? "
        "Write both files again with one tool"
    )


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
