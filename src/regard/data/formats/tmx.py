"""Translation memories: TMX, streamed through expat, with every entity declaration refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import final
from xml.parsers import expat

from regard.data.compressed import opened
from regard.data.example import Kind, Pair
from regard.data.formats.format import Format, Reading, Row, packed_as
from regard.data.lines import LINE_BOUND
from regard.errors import DataError

CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})  # markup of the original, not its words


@dataclass
class _Unit:
    """One `tu` while its segments come in: language and text of each."""

    line: int
    segments: list[tuple[str, str]] = field(default_factory=list)


@final
@dataclass(frozen=True)
class Tmx(Format):
    """In each unit the first segment is the source, the second the target."""

    path: Path

    @property
    def kind(self) -> Kind:
        return Pair

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)

    @property
    def shape(self) -> str:
        return f"{self.path.name}, TMX{packed_as(self.path)}, first (source) and second (target) segment"

    def read(self, reading: Reading) -> Iterator[Row]:
        languages: tuple[str, str] | None = None
        for unit in _units(self.path):
            found = dict(unit.segments)
            if languages is None and len(unit.segments) >= 2:
                languages = (unit.segments[0][0], unit.segments[1][0])
            if languages is None or not all(language in found for language in languages):
                reading.tally.drop("missing segment", self.path, unit.line)
                continue
            source, target = (" ".join(found[language].split()) for language in languages)
            if max(len(source), len(target)) > LINE_BOUND:
                reading.tally.drop("too long", self.path, unit.line)
            else:
                yield from reading.row(Pair, self.path, unit.line, source, target)


@final
class _Parser:
    """Collects finished units; expat calls it, the reader empties it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.finished: list[_Unit] = []
        self.unit: _Unit | None = None
        self.language = ""
        self.text: list[str] | None = None
        self.size = self.codes = 0
        self.expat = expat.ParserCreate()
        self.expat.buffer_text = True
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end
        self.expat.CharacterDataHandler = self._characters
        self.expat.EntityDeclHandler = self._refuse

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self.unit = _Unit(self.expat.CurrentLineNumber)
        elif name == "tuv":
            self.language = attributes.get("xml:lang", attributes.get("lang", "")).lower()
        elif name == "seg":
            self.text, self.size = [], 0
        elif name in CODES:
            self.codes += 1

    def _end(self, name: str) -> None:
        if name == "seg" and self.unit is not None and self.text is not None:
            self.unit.segments.append((self.language, "".join(self.text)))
            self.text = None
        elif name == "tu" and self.unit is not None:
            self.finished.append(self.unit)
            self.unit = None
        elif name in CODES:
            self.codes -= 1

    def _characters(self, text: str) -> None:
        # One segment must not fill the memory: a little over the bound is enough to know.
        if self.text is not None and not self.codes and self.size <= LINE_BOUND:
            self.text.append(text)
            self.size += len(text)

    def _refuse(self, name: str, *_: object) -> None:
        raise DataError(
            f"the file declares the entity '{name}', which could unpack to anything",
            where=f"{self.path}:{self.expat.CurrentLineNumber}",
            remedy="export the translation memory without a DTD",
        )


def _units(path: Path) -> Iterator[_Unit]:
    parser = _Parser(path)
    with opened(path) as stream:
        try:
            while block := stream.read(1 << 16):
                parser.expat.Parse(block, False)
                yield from parser.finished
                parser.finished.clear()
            parser.expat.Parse(b"", True)
        except expat.ExpatError as fault:
            raise DataError(
                f"this is not well-formed XML: {expat.ErrorString(fault.code)}",
                where=f"{path}:{fault.lineno}",
            ) from None
    yield from parser.finished
