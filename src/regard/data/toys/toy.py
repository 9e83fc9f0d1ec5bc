"""What a toy is: a rule that draws examples, a story, and splits that cannot overlap.

The one idea: an example's own content decides which split it may appear in. No list of examples is
kept anywhere, and still no test answer was ever seen in training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import islice
from random import Random
from string import ascii_lowercase
from typing import Literal, final

from regard.data.example import Example, Kind, Pair
from regard.errors import UsageError

Split = Literal["train", "valid", "test"]

_COUNTS: dict[Split, int] = {"train": 20_000, "valid": 500, "test": 500}
_PATIENCE = 5_000  # draws in a row that bring nothing new: then there is nothing new


@final
@dataclass(frozen=True)
class Toy:
    """A small world to learn, made by a rule.

    `probe` is one fixed example to watch while a model learns; it is in no split. `unit` is what
    one symbol of the text is, and so the kind of tokenizer that suits it. `sized` draws an example of a
    given length, where a length can be chosen.
    """

    name: str
    title: str
    story: str
    probe: Example
    draw: Callable[[Random], Example]
    unit: Literal["word", "char"] = "word"
    sized: Callable[[Random, int], Example] | None = None

    @property
    def kind(self) -> Kind:
        """The class of its examples."""
        return type(self.probe)

    def examples(self, split: Split, count: int | None = None) -> Iterator[Example]:
        """The first `count` examples of a split, all different; fewer if no more exist.

        Example i is a pure function of (name, split, i), and the same on every machine.
        """
        usual = _COUNTS[split]
        generator = Random(f"{self.name}/{split}")
        examples = self._all(split, lambda: self.draw(generator))
        return islice(examples, usual if count is None else count)

    def examples_of(self, length: int, count: int) -> Iterator[Example]:
        """Test examples of this length, longer ones too than any in training; all different."""
        sized = self.sized
        if sized is None:
            raise UsageError(
                f"the length of an example of {self.name} cannot be chosen",
                where=f'toy="{self.name}"',
                remedy="train on a toy of letters: before, copy or reverse",
            )
        generator = Random(f"{self.name}/length {length}")
        return islice(self._all("test", lambda: sized(generator, length)), count)

    def _all(self, split: Split, draw: Callable[[], Example]) -> Iterator[Example]:
        withheld = self.probe.content
        seen: set[Example] = set()
        idle = 0
        while idle < _PATIENCE:
            example = draw()
            content = example.content
            if split_of(content) != split or content == withheld or example in seen:
                idle += 1
                continue
            seen.add(example)
            idle = 0
            yield example


def split_of(content: str) -> Split:
    """The one split that may hold this content: 18 parts of 20 train, 1 valid, 1 test."""
    part = int.from_bytes(hashlib.blake2b(content.encode(), digest_size=8).digest(), "big") % 20
    return "valid" if part == 0 else "test" if part == 1 else "train"


# Letters that only move: copied, turned round, or put in the order of ISO 8601.
# Dates are written as people do in English, numeric ones with the day first (16/11/2026). The years are
# 1969 to 2068, so that a two-digit year means what POSIX says it means: 69 is 1969, 68 is 2068.


def letters(generator: Random, length: int | None = None) -> str:
    """Three to ten letters with spaces between them, so that each is a word of its own."""
    count = generator.randint(3, 10) if length is None else length
    return " ".join(generator.choices(ascii_lowercase, k=count))


def _copied(generator: Random, length: int | None = None) -> Pair:
    text = letters(generator, length)
    return Pair(text, text)


COPY = Toy(
    name="copy",
    title="copy letters",
    story="The simplest thing attention can do: letter i looks at letter i, and the map is a diagonal.",
    probe=Pair("r e g a r d", "r e g a r d"),
    draw=_copied,
    sized=_copied,
)


def _reversed(generator: Random, length: int | None = None) -> Pair:
    text = letters(generator, length)
    return Pair(text, text[::-1])


REVERSE = Toy(
    name="reverse",
    title="letters backwards",
    story="The first word needed is the last one heard: without attention it must be remembered, "
    "with attention it is looked up, along the other diagonal.",
    probe=Pair("r e g a r d", "d r a g e r"),
    draw=_reversed,
    sized=_reversed,
)

# Spelt out here, since the calendar module answers in the language of the machine.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_FORMATS = (
    "{day} {month} {year}",
    "{day} {short} {year}",
    "{month} {day}, {year}",
    "{short} {day}, {year}",
    "{weekday}, {day} {month} {year}",
    "{weekday} {short} {day} {year}",
    "{ordinal} {month} {year}",
    "{month} {ordinal}, {year}",
    "the {ordinal} of {month} {year}",
    "{day}-{short}-{century_year}",
    "{day}/{number}/{year}",
    "{day:02}/{number:02}/{century_year}",
    "{day}.{number}.{year}",
)

_FIRST, _LAST = date(1969, 1, 1).toordinal(), date(2068, 12, 31).toordinal()


def write_date(day: date, form: str) -> str:
    """One date in one of the forms people use."""
    month = _MONTHS[day.month - 1]
    return form.format(
        day=day.day,
        ordinal=f"{day.day}{_ending(day.day)}",
        number=day.month,
        month=month,
        short=month[:3],
        weekday=_WEEKDAYS[day.weekday()],
        year=day.year,
        century_year=f"{day.year % 100:02}",
    )


def _ending(number: int) -> str:
    if number in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _dated(generator: Random) -> Pair:
    day = date.fromordinal(generator.randint(_FIRST, _LAST))
    return Pair(write_date(day, generator.choice(_FORMATS)), day.isoformat())


DATES = Toy(
    name="dates",
    title="dates as people write them -> ISO 8601",
    story="The year moves to the front, November becomes 11, the weekday is ignored: "
    "the map shows where each digit came from.",
    probe=Pair("Monday, 16 November 2026", "2026-11-16"),
    draw=_dated,
    unit="char",
)
