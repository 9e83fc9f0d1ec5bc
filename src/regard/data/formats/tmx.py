"""Translation memories: TMX, one unit a pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from regard.data.example import Kind, Pair
from regard.data.formats.format import Format, Reading, Row, packed_as
from regard.data.formats.markup import Collector, units
from regard.data.lines import LINE_BOUND

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
        for unit in units(self.path, _Units()):
            found = dict(unit.segments)
            if languages is None and len(unit.segments) >= 2:
                languages = (unit.segments[0][0], unit.segments[1][0])
            if languages is None or not all(language in found for language in languages):
                reading.tally.drop("missing segment", self.path, unit.line)
                continue
            source, target = (found[language] for language in languages)
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
        elif name in CODES:
            self.codes += 1

    def end(self, name: str) -> None:
        if name == "seg" and self.unit is not None:
            self.unit.segments.append((self.language, self.heard()))
        elif name == "tu" and self.unit is not None:
            self.finished.append(self.unit)
            self.unit = None
        elif name in CODES:
            self.codes -= 1
