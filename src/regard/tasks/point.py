"""Positions of the input as the output: sorting, convex hulls (L81)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from regard.attention.attention import INPUTS, PLACES, TARGET
from regard.data.example import Example, Pointed
from regard.errors import DataError, ModelFileError, UsageError
from regard.evaluate import Metric, exact_match, tour_scores, word_error
from regard.models import SOURCE, Sizes
from regard.question import Question, written
from regard.strict_json import loads
from regard.tasks.axis import Axis, Items, Tokens
from regard.tasks.task import Examples, Forced, Prediction, Progress, Row, Task, only
from regard.text import TextSettings

LARGEST = float(np.finfo(np.float32).max)
STOP = 0  # place 0 ends; place j + 1 is item j


@final
@dataclass(frozen=True)
class Seen:
    """What training saw: how many items a row had, and between which numbers each feature lay."""

    fewest: int
    most: int
    lowest: tuple[float, ...]
    highest: tuple[float, ...]

    @classmethod
    def of(cls, items: Sequence[Sequence[float]]) -> Seen:
        """One row."""
        features = list(zip(*items, strict=False))
        lowest, highest = tuple(map(min, features)), tuple(map(max, features))
        return cls(len(items), len(items), lowest, highest)

    def and_of(self, other: Seen) -> Seen:
        """Two rows, or as many as both have seen."""
        return Seen(
            min(self.fewest, other.fewest),
            max(self.most, other.most),
            tuple(map(min, self.lowest, other.lowest)),
            tuple(map(max, self.highest, other.highest)),
        )

    def unlike(self, items: Sequence[Sequence[float]]) -> str | None:
        """What of a row lies outside, in words."""
        own = Seen.of(items)
        for low, high, least, most in zip(
            self.lowest, self.highest, own.lowest, own.highest, strict=True
        ):
            if least < low or most > high:
                return f"it learned from numbers between {low:g} and {high:g}: this is a guess"
        if not self.fewest <= own.fewest <= self.most:
            return (
                f"it learned from rows of {self.fewest:,} to {self.most:,} items: this is a guess"
            )
        return None

    def to_json(self) -> str:
        """All four."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, document: str, features: int) -> Seen:
        """What `to_json` wrote, for items of so many features; anything else is a `ModelFileError`."""
        match loads(document, where="tokenizer.json"):
            case {
                "fewest": int(few),
                "most": int(most),
                "lowest": [*low],
                "highest": [*high],
                **more,
            }:
                numbers = (*low, *high)
                is_whole = not more and len(low) == len(high) == features
                if is_whole and all(isinstance(number, float) for number in numbers):
                    return cls(few, most, tuple(low), tuple(high))
        raise ModelFileError(
            "what training saw is damaged",
            where="tokenizer.json",
            remedy="put back the tokenizer.json of this run",
        )


@final
@dataclass(frozen=True, eq=False)
class Point(Task):
    """Items are vectors of `features` numbers, so there is no vocabulary at all.

    As text, items stand between spaces, and the numbers of an item between commas: `0.3,0.1 0.5,0.9`.
    """

    features: int = 1
    seen: Seen | None = None  # None for runs that were made before it was kept
    name = "point"
    verb = "point"
    method = "point"
    hint = "Numbers, or points: 3 1 2, or 0.1,0.9 0.4,0.2"
    reading = (
        "Each number is a position in the question, counted from 0; below it is its probability."
    )
    end = STOP

    @classmethod
    def learn(
        cls,
        examples: Examples,
        settings: TextSettings,  # noqa: ARG003
        progress: Progress | None = None,  # noqa: ARG003
    ) -> Point:
        """How many numbers an item has, and in which range they, and the rows, lie."""
        features, seen = 0, None
        for example in only(examples(), Pointed):
            features = features or len(example.items[0])
            row = Seen.of(example.items)
            seen = row if seen is None else seen.and_of(row)
        if seen is not None:
            return cls(features, seen)
        raise DataError(
            "there is nothing to learn from: no example at all",
            where="data.train",
            remedy="name a file with at least one example",
        )

    @classmethod
    def trial_sizes(cls, *, shared: bool) -> Sizes:  # noqa: ARG003
        """Items of two numbers."""
        return Sizes(features=2, begin=STOP, end=STOP)

    def to_dict(self) -> dict[str, str]:
        """The width of an item, and what training saw."""
        seen = {} if self.seen is None else {"seen": self.seen.to_json()}
        return {"features": str(self.features), **seen}

    @classmethod
    def from_dict(cls, documents: Mapping[str, str]) -> Point:
        """The width of an item."""
        width = documents["features"]
        if not (width.isascii() and width.isdigit() and 0 < int(width) <= 10_000):
            raise ModelFileError(
                f"'{width}' is no number of features",
                where="tokenizer.json",
                remedy="put back the tokenizer.json of this run",
            )
        seen = documents.get("seen")
        return cls(int(width), None if seen is None else Seen.from_json(seen, int(width)))

    @property
    def sizes(self) -> Sizes:
        """Frames in, places out."""
        return Sizes(features=self.features, begin=STOP, end=STOP)

    def rows(self, examples: Sequence[Example]) -> list[Row]:
        """Frames, and the places to point at, the stop sign last."""
        return [
            {
                "source": self._frames(example.items),
                "target": np.array([*(p + 1 for p in example.positions), STOP], np.int32),
            }
            for example in only(iter(examples), Pointed)
        ]

    def _frames(self, items: Sequence[Sequence[float]]) -> np.ndarray:
        widths = {len(item) for item in items}
        if widths - {self.features}:
            raise DataError(
                f"an item has {self.features} numbers here, and one has {max(widths)}",
                remedy="separate items by spaces and the numbers of one item by commas",
                where=f"item {[len(item) for item in items].index(max(widths)) + 1:,}",
            )
        return np.array(items, np.float32).reshape(len(items), self.features)

    def one_asked(self, question: Any) -> str:
        """One problem as its verb takes it: `[0.3, 0.1]`, points, or an array."""
        text = isinstance(question, str | Mapping)
        return super().one_asked(question if text else written(question, self.features))

    def encode(self, text: str) -> np.ndarray:
        """The items."""
        return self._frames(items_of(text))

    def unlike(self, text: str, reads: Sequence[str]) -> str | None:  # noqa: ARG002
        """Numbers, or rows, of a size that training never saw."""
        with suppress(DataError):  # which is told where it is answered
            items = items_of(text)
            if items and self.seen is not None:
                return self.seen.unlike(items)
        return None

    def forced(self, text: str, answer: Prediction) -> Forced:
        """Items, the places that can be pointed at, and what each step pointed at and had read."""
        items = items_of(text)
        names = tuple(",".join(f"{number:g}" for number in item) for item in items)
        points = tuple(map(tuple, items))
        ended = () if answer.finish == "length" else (STOP,)
        ids = [*(int(name) + 1 for name in answer.symbols), *ended]
        target = Tokens.whole(map(self.symbol, ids))
        axes: dict[str, Axis] = {
            SOURCE: Items(names, points),
            PLACES: Items(("stop", *names), ((), *points)),
            TARGET: target,
            INPUTS: target.later("start"),
        }
        return Forced({"source": self._frames(items), "target": np.array(ids, np.int32)}, axes, ids)

    def symbol(self, number: int) -> str:
        """`stop`, or the position of an item, counted from 0."""
        return "stop" if number == STOP else str(number - 1)

    def given(self, prefix: Sequence[int | str], places: int) -> list[int]:
        """Places to point at first: by number, or an item by its position, or `stop`."""
        ids = [_place(symbol) for symbol in prefix]
        for symbol, number in zip(prefix, ids, strict=True):
            if not 0 <= number <= places:
                raise UsageError(
                    f"no symbol {symbol!r} to begin with",
                    where="prefix",
                    remedy=f"give the positions of items, 0 to {places - 1}, or stop",
                )
        if STOP in ids[:-1]:
            raise UsageError(
                "nothing can follow the end symbol",
                where="prefix",
                remedy="leave out what stands behind it",
            )
        if len(set(ids)) < len(ids):
            raise UsageError(
                "no place is pointed at twice", where="prefix", remedy="give each place once"
            )
        return ids

    def write(self, places: Sequence[int]) -> tuple[str, tuple[str, ...]]:
        """Places as positions counted from 0."""
        names = tuple(str(place - 1) for place in places)
        return " ".join(names), names

    def question(self, example: Example) -> str:
        """The items as text, to the last digit."""
        assert isinstance(example, Pointed)
        return Question({SOURCE: example.items})

    def judge(self, predicted: Sequence[str], answers: Sequence[str]) -> list[Metric]:
        """Whole answers right, and how far the others are off."""
        return [exact_match(predicted, answers), word_error(predicted, answers)]

    def beside(
        self, questions: Sequence[str], predicted: Sequence[str], answers: Sequence[str]
    ) -> list[Metric]:
        """Of round trips through points, how long they are, beside the given ones."""
        problems = [items_of(question) for question in questions]
        due = [list(map(int, answer.split())) for answer in answers]
        every = zip(problems, due, strict=True)
        if self.features < 2 or any(sorted(one) != list(range(len(items))) for items, one in every):
            return []
        tours = [[int(place) for place in answer.split()] for answer in predicted]
        return tour_scores(problems, tours, due)


def _place(symbol: int | str) -> int:
    if isinstance(symbol, int):
        return symbol
    return STOP if symbol == "stop" else int(symbol) + 1 if symbol.isdecimal() else -1


def items_of(text: str) -> list[list[float]]:
    """`0.3,0.1 0.5,0.9` as vectors."""
    try:
        items = [[float(number) for number in item.split(",")] for item in text.split()]
    except ValueError:
        raise DataError(
            f"'{text[:60]}' is no list of items",
            remedy="separate items by spaces and the numbers of one item by commas: 0.3,0.1 0.5,0.9",
            where="items",
        ) from None
    for place, item in enumerate(items):
        if not all(abs(number) <= LARGEST for number in item):  # which nan is not
            raise DataError(
                f"item {place + 1:,} is not finite",
                remedy="leave it out: nobody can place it",
                where="items",
            )
    return items
