"""What one pass over a source finds, in memory that does not grow with it.

Repeats and overlaps are looked up by 64-bit hashes, thinned by half whenever they are too many;
length ratios go to a histogram whose bins remember their first lines; languages are judged on a sample.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from regard.data.drift import OTHER_LINE_ENDS
from regard.data.example import Example, Pair
from regard.data.formats.format import Row
from regard.data.source import Source
from regard.data.tally import Tally

MOST_HASHES = 1 << 19
SAMPLE = 2000
BINS_PER_E = 16
# Letters of UTF-8 read as Latin-1 or Windows-1252: é as Ã©, ’ as â€™, п as Ð¿.
LATER_BYTE = "[\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]"
MISREAD = re.compile(f"Ã{LATER_BYTE}|Â[\xa0-\xbf]|â€|(?:[ÐÑÎÏØÙ]{LATER_BYTE}){{2}}")
LOST = "\ufffd"


@final
@dataclass
class Places:
    """How often something occurred, and where first."""

    count: int = 0
    first: list[tuple[Path, int]] = field(default_factory=list)

    def add(self, row: Row) -> None:
        """Count one more."""
        self.count += 1
        if len(self.first) < 3:
            self.first.append((row.path, row.line))

    def __str__(self) -> str:
        """`train.en:3, 17, 44, ...`, each file named once."""
        told = [
            str(line) if index and path == self.first[index - 1][0] else f"{path}:{line}"
            for index, (path, line) in enumerate(self.first)
        ]
        return ", ".join([*told, "..."] if self.count > len(told) else told)


@final
class Seen:
    """Examples by their hash. Beyond `most`, only hashes divisible by 2, 4, 8... are kept."""

    def __init__(self, most: int = MOST_HASHES) -> None:
        self.most = most
        self.rate = 1
        self.places: dict[int, str] = {}
        self.repeats: Counter[int] = Counter()

    def add(self, key: int, place: str = "") -> bool:
        """Whether the key was met before, as far as the sample can tell."""
        if key % self.rate:
            return False
        if key in self.places:
            self.repeats[key] += 1
            return True
        self.places[key] = place
        if len(self.places) > self.most:
            self.rate *= 2
            self.places = {k: place for k, place in self.places.items() if k % self.rate == 0}
            self.repeats = Counter({k: n for k, n in self.repeats.items() if k % self.rate == 0})
        return False

    @property
    def repeated(self) -> int:
        """How many were repeats: exact while nothing was thinned, else scaled up."""
        return self.repeats.total() * self.rate


@final
class Survey:
    """One source, gone through once."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tally = Tally()
        self.seen = Seen()
        self.repeats = Places()
        self.misread, self.lost, self.line_ends = Places(), Places(), Places()
        self.ratios: dict[int, Places] = {}
        self.labels: set[str] = set()
        self.rows: list[Example] = []
        self.sample: list[Row] = []
        self._random = random.Random(0)

    def add(self, row: Row, key: int) -> None:
        """Take note of one example."""
        if self.seen.add(key):
            self.repeats.add(row)
        text = row.example.prose
        if not text.isascii():
            if MISREAD.search(text):
                self.misread.add(row)
            if LOST in text:
                self.lost.add(row)
        if OTHER_LINE_ENDS.search(text):
            self.line_ends.add(row)
        if isinstance(row.example, Pair):
            source, target = row.example.source, row.example.target
            ratio = math.log((len(target) + 10) / (len(source) + 10))
            self.ratios.setdefault(round(ratio * BINS_PER_E), Places()).add(row)
        self.labels.update(row.example.labels)
        self._keep(row)

    def outliers(self) -> Places:
        """Pairs whose length ratio is four times the usual one, or six deviations from it."""
        total = sum(places.count for places in self.ratios.values())
        if total < 20:
            return Places()
        middle = _median({key: places.count for key, places in self.ratios.items()})
        distances: Counter[int] = Counter()
        for key, places in self.ratios.items():
            distances[abs(key - middle)] += places.count
        allowed = max(BINS_PER_E * math.log(4), 6 * 1.4826 * _median(distances))
        far = [places for key, places in self.ratios.items() if abs(key - middle) > allowed]
        first = sorted(place for places in far for place in places.first)[:3]
        return Places(sum(places.count for places in far), first)

    def pairs(self) -> list[Pair]:
        """The sampled pairs."""
        return [row.example for row in self.sample if isinstance(row.example, Pair)]

    def _keep(self, row: Row) -> None:
        """A uniform sample of all rows so far (reservoir sampling), and the first three."""
        if len(self.rows) < 3:
            self.rows.append(row.example)
        if len(self.sample) < SAMPLE:
            self.sample.append(row)
        else:
            place = self._random.randrange(self.tally.kept)
            if place < SAMPLE:
                self.sample[place] = row


def key_of(example: Example, *, input_only: bool = False) -> int:
    """64 bits that two examples share when they are equal, or when their inputs are."""
    parts = [example.asked] if input_only else [example.asked, example.answer]
    digest = hashlib.blake2b("\0".join(parts).encode("utf-8"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")


def _median(histogram: dict[int, int]) -> int:
    half = sum(histogram.values()) / 2
    below = 0
    for key in sorted(histogram):
        below += histogram[key]
        if below >= half:
            break
    return key
