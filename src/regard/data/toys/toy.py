"""What a toy is: a rule that draws examples, a story, and splits that cannot overlap.

The one idea: an example's own content decides which split it may appear in. No list of examples is
kept anywhere, and still no test answer was ever seen in training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Literal, final

from regard.data.example import Example, Kind

Split = Literal["train", "valid", "test"]

_COUNTS: dict[Split, int] = {"train": 20_000, "valid": 500, "test": 500}
_PATIENCE = 5_000  # draws in a row that bring nothing new: then there is nothing new


@final
@dataclass(frozen=True)
class Toy:
    """A small world to learn, made by a rule.

    `probe` is one fixed example to watch while a model learns; it is in no split. `unit` is what
    one symbol of the text is, and so the kind of tokenizer that suits it.
    """

    name: str
    title: str
    story: str
    probe: Example
    draw: Callable[[Random], Example]
    unit: Literal["word", "char"] = "word"

    @property
    def kind(self) -> Kind:
        """The class of its examples."""
        return type(self.probe)

    def examples(self, split: Split, count: int | None = None) -> Iterator[Example]:
        """The first `count` examples of a split, all different; fewer if no more exist.

        Example i is a pure function of (name, split, i), and the same on every machine.
        """
        usual = _COUNTS[split]
        return islice(self._all(split), usual if count is None else count)

    def _all(self, split: Split) -> Iterator[Example]:
        generator = Random(f"{self.name}/{split}")
        withheld = self.probe.content
        seen: set[Example] = set()
        idle = 0
        while idle < _PATIENCE:
            example = self.draw(generator)
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
