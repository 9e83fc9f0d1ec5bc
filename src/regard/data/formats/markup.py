"""XML of translators: TMX and XLIFF, read block by block, with every entity declaration refused."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar, final
from xml.parsers import expat

from regard.data.example import Kind, Pair
from regard.data.formats.format import OneFile, Reading, Row, packed_as
from regard.data.lines import LINE_BOUND, opened
from regard.errors import DataError

U = TypeVar("U")
BLOCK = 1 << 16


class Collector(ABC, Generic[U]):
    """What a format makes of elements: it puts each unit that is complete into `finished`."""

    def __init__(self) -> None:
        self.finished: list[U] = []
        self.line = 1  # of the element that begins or ends
        self._text: list[str] = []
        self._size = 0
        self._listening = False

    @abstractmethod
    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins; its name comes without a namespace's prefix."""

    @abstractmethod
    def end(self, name: str) -> None:
        """An element ends."""

    @property
    def ignores_text(self) -> bool:
        """Whether text that comes now is markup of the original, not its words."""
        return False

    @final
    def listen(self) -> None:
        """From here on, text belongs to a segment."""
        self._text, self._size, self._listening = [], 0, True

    @final
    def heard(self) -> str:
        """The segment's text, on one line; as it is where it is over the bound, so that this still shows."""
        self._listening = False
        text = "".join(self._text)
        return text if self._size > LINE_BOUND else " ".join(text.split())

    @final
    def characters(self, text: str) -> None:
        """Some text; a segment must not fill the memory: a little over the bound is enough to know."""
        if self._listening and not self.ignores_text and self._size <= LINE_BOUND:
            self._text.append(text)
            self._size += len(text)


def units(path: Path, collector: Collector[U]) -> Iterator[U]:
    """The units of a file, one after another."""
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        collector.line = parser.CurrentLineNumber
        collector.start(name.rpartition(":")[2], attributes)

    def end(name: str) -> None:
        collector.line = parser.CurrentLineNumber
        collector.end(name.rpartition(":")[2])

    def refuse(name: str, *_: object) -> None:
        raise DataError(
            f"the file declares the entity '{name}', which could unpack to anything",
            where=f"{path}:{parser.CurrentLineNumber}",
            remedy="export it again without a DTD",
        )

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = collector.characters, refuse
    with opened(path) as stream:
        try:
            while block := stream.read(BLOCK):
                parser.Parse(block, False)
                yield from collector.finished
                collector.finished.clear()
            parser.Parse(b"", True)
        except expat.ExpatError as fault:
            raise DataError(
                f"this is not well-formed XML: {expat.ErrorString(fault.code)}",
                where=f"{path}:{fault.lineno}",
                remedy="mend the element at this line, or export the file again",
            ) from None
    yield from collector.finished


TMX_CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})  # markup of the original, not its words


@dataclass
class _Unit:
    """One `tu` while its segments come in: language and text of each."""

    line: int
    segments: list[tuple[str, str]] = field(default_factory=list)


@final
@dataclass(frozen=True)
class Tmx(OneFile):
    """In each unit the first segment is the source, the second the target."""

    @property
    def kind(self) -> Kind:
        return Pair

    @property
    def shape(self) -> str:
        return f"{self.path.name}, TMX{packed_as(self.path)}, first (source) and second (target) segment"

    def read(self, reading: Reading) -> Iterator[Row]:
        languages: tuple[str, str] | None = None
        for unit in units(self.path, _Units()):
            texts = dict(unit.segments)
            if languages is None and len(unit.segments) >= 2:
                languages = (unit.segments[0][0], unit.segments[1][0])
            if languages is None or not all(language in texts for language in languages):
                reading.tally.drop("missing segment", self.path, unit.line)
                continue
            source, target = (texts[language] for language in languages)
            if max(len(source), len(target)) > LINE_BOUND:
                reading.tally.drop("too long", self.path, unit.line)
            else:
                yield from reading.row(Pair, self.path, unit.line, source, target)


@final
class _Units(Collector[_Unit]):
    def __init__(self) -> None:
        super().__init__()
        self.unit: _Unit | None = None
        self.language, self.codes = "", 0

    @property
    def ignores_text(self) -> bool:
        return self.codes > 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self.unit = _Unit(self.line)
        elif name == "tuv":
            self.language = attributes.get("xml:lang", attributes.get("lang", "")).lower()
        elif name == "seg":
            self.listen()
        elif name in TMX_CODES:
            self.codes += 1

    def end(self, name: str) -> None:
        if name == "seg" and self.unit is not None:
            self.unit.segments.append((self.language, self.heard()))
        elif name == "tu" and self.unit is not None:
            self.finished.append(self.unit)
            self.unit = None
        elif name in TMX_CODES:
            self.codes -= 1


SEGMENTS = frozenset({"trans-unit", "segment"})  # what holds a source and its target: 1.2, and 2
SIDES = frozenset({"source", "target"})
XLIFF_CODES = frozenset({"bpt", "ept", "it", "ph"})  # markup of the original, not its words
UNTRANSLATED = frozenset({"initial", "new", "needs-translation"})


@dataclass
class _Segment:
    """A source, its target, and how far translators have come with it."""

    line: int
    state: str
    texts: dict[str, str] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Xliff(OneFile):
    """What is marked as not yet translated is left out; suggestions from other files are no pairs."""

    version: str
    source: str
    target: str

    @property
    def kind(self) -> Kind:
        return Pair

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
    raise DataError(
        "there is no <xliff> with a <file> in it",
        where=str(path),
        remedy="export it as XLIFF 1.2 or 2.0, or write it as TSV",
    )


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
        elif name in XLIFF_CODES:
            self.codes += 1
        self.above.append(name)

    def end(self, name: str) -> None:
        self.above.pop()
        if self._is_side(name) and self.segment is not None:
            self.segment.texts[name] = self.heard()
        elif name in SEGMENTS and self.segment is not None:
            self.finished.append(self.segment)
            self.segment = None
        elif name in XLIFF_CODES:
            self.codes -= 1

    def _is_side(self, name: str) -> bool:
        return name in SIDES and bool(self.above) and self.above[-1] in SEGMENTS
