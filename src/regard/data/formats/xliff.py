"""Texts on their way through translators: XLIFF 1.2 and 2, one segment a pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from regard.data.example import Kind, Pair
from regard.data.formats.format import Format, Reading, Row, packed_as
from regard.data.formats.markup import Collector, units
from regard.data.lines import LINE_BOUND
from regard.errors import DataError

SEGMENTS = frozenset({"trans-unit", "segment"})  # what holds a source and its target: 1.2, and 2
SIDES = frozenset({"source", "target"})
CODES = frozenset({"bpt", "ept", "it", "ph"})  # markup of the original, not its words
UNTRANSLATED = frozenset({"initial", "new", "needs-translation"})


@dataclass
class _Segment:
    """A source, its target, and how far translators have come with it."""

    line: int
    state: str
    texts: dict[str, str] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Xliff(Format):
    """What is marked as not yet translated is left out; suggestions from other files are no pairs."""

    path: Path
    version: str
    source: str
    target: str

    @property
    def kind(self) -> Kind:
        return Pair

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)

    @property
    def shape(self) -> str:
        sides = f"{self.source or 'unnamed'} (source) and {self.target or 'unnamed'} (target)"
        return f"{self.path.name}, XLIFF {self.version}{packed_as(self.path)}, {sides}"

    def read(self, reading: Reading) -> Iterator[Row]:
        for segment in units(self.path, _Segments()):
            source, target = (segment.texts.get(side, "") for side in ("source", "target"))
            if segment.state in UNTRANSLATED or "target" not in segment.texts:
                reading.tally.drop("not translated", self.path, segment.line)
            elif max(len(source), len(target)) > LINE_BOUND:
                reading.tally.drop("too long", self.path, segment.line)
            else:
                yield from reading.row(Pair, self.path, segment.line, source, target)


def xliff(path: Path) -> Xliff:
    """The version and the two languages, from the head of the file."""
    for version, source, target in units(path, _Head()):
        return Xliff(path, version, source, target)
    raise DataError("there is no <xliff> with a <file> in it", where=str(path))


@final
class _Head(Collector[tuple[str, str, str]]):
    """Version 2 names the languages once, in its root; 1.2 names them in each file."""

    def __init__(self) -> None:
        super().__init__()
        self.root: dict[str, str] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "xliff":
            self.root = attributes
        elif name == "file":
            source = attributes.get("source-language", self.root.get("srcLang", ""))
            target = attributes.get("target-language", self.root.get("trgLang", ""))
            self.finished.append((self.root.get("version", "1.2"), source, target))

    def end(self, name: str) -> None:
        """Nothing in the head spans elements."""


@final
class _Segments(Collector[_Segment]):
    """A source or target counts right below its segment: below anything else it is a suggestion."""

    def __init__(self) -> None:
        super().__init__()
        self.above: list[str] = []
        self.segment: _Segment | None = None
        self.codes = 0

    @property
    def ignores_text(self) -> bool:
        return self.codes > 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in SEGMENTS:
            self.segment = _Segment(self.line, attributes.get("state", ""))
        elif self._is_side(name):
            self.listen()
            if self.segment is not None and "state" in attributes:
                self.segment.state = attributes["state"]
        elif name in CODES:
            self.codes += 1
        self.above.append(name)

    def end(self, name: str) -> None:
        self.above.pop()
        if self._is_side(name) and self.segment is not None:
            self.segment.texts[name] = self.heard()
        elif name in SEGMENTS and self.segment is not None:
            self.finished.append(self.segment)
            self.segment = None
        elif name in CODES:
            self.codes -= 1

    def _is_side(self, name: str) -> bool:
        return name in SIDES and bool(self.above) and self.above[-1] in SEGMENTS
