"""Where answers go wrong: scores by the length of the question, and words forgotten by distance (L14).

A score over a whole test hides what the lectures draw: a model that must press all it reads into one state
loses long questions first, and in them the words that it read long ago.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, final

from regard.evaluate.metric import Metric, wilson

MOST = 12  # groups of a breakdown
Links = Sequence[tuple[int, int]]


@final
@dataclass(frozen=True)
class Group:
    """Examples of one size, or of sizes from `low` to `high`, by their numbers."""

    low: int
    high: int
    members: tuple[int, ...]

    @property
    def name(self) -> str:
        """As a row of a table: `5`, or `5 to 8`."""
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"

    @property
    def middle(self) -> float:
        """Where a curve has it."""
        return (self.low + self.high) / 2

    def of(self, values: Sequence[Any]) -> list[Any]:
        """The members among all."""
        return [values[number] for number in self.members]


def grouped(sizes: Sequence[int], most: int = MOST) -> list[Group]:
    """Examples of like size, from the smallest up: one group a size, or ranges if those were too many.

    All ranges are as wide, a round number of sizes: 1, 2, 5, 10, 20.. Those that nobody has are left out.
    """
    if not sizes:
        return []
    wide = next(
        width
        for width in (factor * 10**power for power in range(12) for factor in (1, 2, 5))
        if (max(sizes) - 1) // width - (min(sizes) - 1) // width < most
    )
    order = sorted(range(len(sizes)), key=lambda number: sizes[number])
    groups = []
    for place, some in groupby(order, key=lambda number: (sizes[number] - 1) // wide):
        groups.append(Group(place * wide + 1, (place + 1) * wide, tuple(sorted(some))))
    return groups


@final
@dataclass(frozen=True)
class Kept:
    """Of the words at one distance, how many were said, and how many of them where they belong."""

    distance: int
    placed: int
    said: int
    wanted: int

    @property
    def metrics(self) -> list[Metric]:
        """Both shares, with Wilson's interval."""
        return [
            Metric(name, 100 * count / self.wanted, f"n:{self.wanted}|ci:wilson", ends)
            for name, count in (("in its place", self.placed), ("said", self.said))
            for ends in [wilson(count, self.wanted)]
        ]


def same_words(question: str, answer: str) -> list[tuple[int, int]]:
    """Words that stand once in the question and once in its right answer: (place in it, place in that).

    No model is asked what belongs to what: a letter to copy, a name, a number are the same on both sides.
    """
    sides = [text.split() for text in (question, answer)]
    once = [{word: side.index(word) for word in side if side.count(word) == 1} for side in sides]
    return [(place, once[1][word]) for word, place in once[0].items() if word in once[1]]


def by_distance(
    links: Iterable[Links],
    questions: Sequence[str],
    predicted: Sequence[str],
    answers: Sequence[str],
) -> list[Kept]:
    """How many of the linked words an answer has, by how many words lie between reading and writing.

    In its place is a word that stands where the right answer has it, said is one that stands anywhere. A
    word at place i of n in the question and at place t of the answer, both from 0, is written n - i + t
    words after it was read: 1 for the last word read that is the first word written.
    """
    counts: dict[int, list[int]] = {}
    for own, question, said, right in zip(links, questions, predicted, answers, strict=True):
        size, words, there = len(question.split()), right.split(), said.split()
        for source, target in own:
            count = counts.setdefault(size - source + target, [0, 0, 0])
            count[0] += there[target : target + 1] == [words[target]]
            count[1] += words[target] in there
            count[2] += 1
    return [Kept(distance, *counts[distance]) for distance in sorted(counts)]
