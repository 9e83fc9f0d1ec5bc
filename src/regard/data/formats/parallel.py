"""Two files side by side: line i of one belongs to line i of the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import final

from regard.data.drift import uneven
from regard.data.example import Kind, Labelled, Pair, Tagged
from regard.data.formats.format import Format, Reading, Row, packed_as

SIDES: dict[Kind, tuple[str, str]] = {
    Pair: ("source", "target"),
    Labelled: ("text", "label"),
    Tagged: ("words", "tags"),
}


@final
@dataclass(frozen=True)
class Parallel(Format):
    """`train.en` beside `train.de`; also texts beside labels, and words beside tags."""

    first: Path
    second: Path
    of: Kind = Pair

    @property
    def kind(self) -> Kind:
        return self.of

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.first, self.second

    @property
    def shape(self) -> str:
        one, other = SIDES[self.of]
        names = f"{self.first.name} ({one}) beside {self.second.name} ({other})"
        return f"{names}, plain text{packed_as(self.first)}"

    def read(self, reading: Reading) -> Iterator[Row]:
        both = zip_longest(reading.lines(self.first), reading.lines(self.second))
        for one, other in both:
            if one is None or other is None:
                raise uneven(self.first, self.second)
            if one.fault:
                reading.tally.drop(one.fault, self.first, one.number)
            elif other.fault:
                reading.tally.drop(other.fault, self.second, other.number)
            else:
                yield from reading.row(self.of, self.first, one.number, one.text, other.text)
