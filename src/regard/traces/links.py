"""Word links from a translator's attention: which site and heads align best is found, not assumed.

A target word is linked to the source word that has most of its attention, read where the word is said, or one
step later, where it was just read (Chen 2020 calls that shifted). Two directions of translation, or, with one
alone, the rows and the columns of its matrix, give two sets of links. Without links drawn by people, the
choice is taken whose two sets agree most; with them, that of the least error. Both sets are joined by growing
their intersection along its neighbours (Koehn 2003).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import final

import numpy as np
from jaxtyping import Float

from regard.errors import UsageError
from regard.evaluate.error_rate import Link, Links
from regard.tasks.axis import Axis
from regard.traces.head_roles import is_special
from regard.traces.head_survey import Look
from regard.traces.trace import Trace

Matrix = Float[np.ndarray, "target source"]
Set = frozenset[Link]  # (source, target)


@final
@dataclass(frozen=True)
class Choice:
    """A site, the heads whose mean is read (none: all), and whether words are read one step late."""

    site: str
    heads: tuple[int, ...] = ()
    shifted: bool = False

    def __str__(self) -> str:
        which = f"heads {', '.join(map(str, self.heads))}" if self.heads else "all heads"
        return f"{self.site}, {which}, {'one step later' if self.shifted else 'as it is said'}"


@final
@dataclass(frozen=True)
class Chosen:
    """The choice of each direction, and how good it was on the sentences it was found with."""

    forward: Choice
    backward: Choice | None
    score: float  # agreement (F1), or 1 - alignment error


@final
class Seen:
    """The word matrices of one pair in one direction, for every site, head and reading; worked out once."""

    def __init__(self, trace: Trace, source: Sequence[str], target: Sequence[str]) -> None:
        sides = [
            owners(trace.axes[name], words)
            for name, words in (("source", source), ("target", target))
        ]
        if sides[0] is None or sides[1] is None:
            raise UsageError(
                "the words of this pair are not those that the model read",
                where=f"text {trace.question[:60]!r}",
                remedy="leave this pair out",
            )
        self._shape = len(target), len(source)
        self._sides = sides[1], sides[0]
        self._weights = {
            site.path: site.weights
            for site in trace.sites
            if site.faces_source and site.queries == "target" and site.keys == "source"
        }
        self.heads = {path: len(weights) for path, weights in self._weights.items()}
        pieces = [np.asarray(trace.axes[name].word_ids) for name in ("target", "source")]
        self._owners = [
            np.asarray(side)[own] for side, own in zip(self._sides, pieces, strict=True)
        ]

    def matrix(self, choice: Choice) -> Matrix:
        """The mean of the chosen heads, between words."""
        weights = self._weights[choice.site]
        one = (weights[list(choice.heads)] if choice.heads else weights).mean(0)
        if (
            choice.shifted
        ):  # the step that has just read a word is the one behind that which said it
            one = np.concatenate([one[1:], one[-1:]])
        links = np.zeros(self._shape)
        rows, columns = self._owners
        inner = one[rows >= 0][:, columns >= 0]
        np.add.at(links, (rows[rows >= 0][:, None], columns[columns >= 0][None]), inner)
        sizes = np.bincount(rows[rows >= 0], minlength=self._shape[0])
        return links / np.maximum(sizes, 1)[:, None]


def owners(axis: Axis, words: Sequence[str]) -> list[int] | None:
    """For each word of an axis the number of the given word it is part of; -1 for special ones.

    None, where both are not the same letters.
    """
    starts = np.cumsum([0, *(len(word) for word in words)])
    numbers, place = [], 0
    for word in axis.words:
        bare = "" if is_special(word) else word.replace("▁", "").replace(" ", "")
        at = int(np.searchsorted(starts, place, side="right")) - 1
        numbers.append(at if bare and at < len(words) else -1)
        place += len(bare)
    letters = "".join(w.replace("▁", "").replace(" ", "") for w in axis.words if not is_special(w))
    return numbers if letters.casefold() == "".join(words).casefold() else None


def by_rows(matrix: Matrix) -> Set:
    """Each target word to its most attended source word."""
    return frozenset((int(source), target) for target, source in enumerate(matrix.argmax(1)))


def by_columns(matrix: Matrix) -> Set:
    """Each source word to the target word that attends to it most."""
    return frozenset((source, int(target)) for source, target in enumerate(matrix.argmax(0)))


def turned(links: Set) -> Set:
    """The same links, seen from the other language."""
    return frozenset((target, source) for source, target in links)


def grown(one: Set, other: Set) -> Set:
    """What both say, and step by step each neighbour that one of them says and that links a new word."""
    links, union = set(one & other), one | other
    near = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]
    while True:
        sources, targets = {s for s, _ in links}, {t for _, t in links}
        fresh = {
            (s + down, t + along)
            for s, t in links
            for down, along in near
            if (s + down, t + along) in union - links
            and (s + down not in sources or t + along not in targets)
        }
        if not fresh:
            return frozenset(links)
        links.add(min(fresh))  # one at a time, in order: two of them may link the same new word


def agreement(pairs: Sequence[tuple[Set, Set]]) -> float:
    """F1 of one set of links against the other, over all sentences."""
    both = sum(len(one & other) for one, other in pairs)
    total = sum(len(one) + len(other) for one, other in pairs)
    return 2 * both / total if total else 0.0


def error(pairs: Sequence[tuple[Set, Links]]) -> float:
    """Alignment error rate (Och and Ney 2003)."""
    good = sum(len(one & gold.sure) + len(one & gold.possible) for one, gold in pairs)
    total = sum(len(one) + len(gold.sure) for one, gold in pairs)
    return 1 - good / total if total else 1.0


def choose(
    forward: Sequence[Seen], backward: Sequence[Seen] | None, gold: Sequence[Links] | None = None
) -> Chosen:
    """The site, heads and reading of each direction that serve these pairs best."""
    if not forward or not forward[0].heads:
        raise UsageError(
            "this model has no attention between two languages", "model", "take a translator"
        )
    starts = [list(_starts(side[0])) for side in (forward, backward or forward)]

    def score(one: Choice, other: Choice | None) -> float:
        pairs = [
            sets(own, None if backward is None else backward[number], one, other)
            for number, own in enumerate(forward)
        ]
        if gold is None:
            return agreement(pairs)
        joined = ((grown(*both), links) for both, links in zip(pairs, gold, strict=True))
        return 1 - error(list(joined))

    others: Sequence[Choice | None] = [None] if backward is None else starts[1]
    first, second = max(product(starts[0], others), key=lambda pair: score(*pair))
    first = _heads(first, forward[0].heads[first.site], lambda one: score(one, second))
    if second is not None and backward is not None:
        count = backward[0].heads[second.site]
        second = _heads(second, count, lambda other: score(first, other))
    return Chosen(first, second, score(first, second))


def sets(
    forward: Seen, backward: Seen | None, one: Choice, other: Choice | None
) -> tuple[Set, Set]:
    """The two sets of links of a pair."""
    matrix = forward.matrix(one)
    if backward is None or other is None:
        return by_rows(matrix), by_columns(matrix)
    return by_rows(matrix), turned(by_rows(backward.matrix(other)))


def linked(chosen: Chosen, forward: Seen, backward: Seen | None) -> Set:
    """The links of one pair."""
    return grown(*sets(forward, backward, chosen.forward, chosen.backward))


def pharaoh(links: Set) -> str:
    """`0-0 1-2`, in order."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def seen(look: Look, source: str, target: str) -> Seen:
    """What a model's attention says about a pair, its target forced."""
    return Seen(look(source, target), source.split(), target.split())


def _starts(one: Seen) -> Iterator[Choice]:
    for site in one.heads:
        yield Choice(site)
        yield Choice(site, shifted=True)


def _heads(start: Choice, count: int, score: Callable[[Choice], float]) -> Choice:
    """The best few heads of a site: ordered by how well each does alone, as many as help."""
    if count < 2:
        return start
    alone = {head: score(Choice(start.site, (head,), start.shifted)) for head in range(count)}
    order = sorted(alone, key=lambda head: -alone[head])
    tried = [
        Choice(start.site, tuple(sorted(order[:few])), start.shifted) for few in range(1, count)
    ]
    return max([start, *tried], key=score)
