"""One line, one example: plain text, fastText's labelled lines, and SCAN's commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

from regard.data.example import Kind, Labelled, Line, Pair
from regard.data.formats.format import Format, Reading, Row, packed_as

Style = Literal["plain text", "fastText", "SCAN"]
KINDS: dict[Style, Kind] = {"plain text": Line, "fastText": Labelled, "SCAN": Pair}
LABEL_MARK = "__label__"


@final
@dataclass(frozen=True)
class Lined(Format):
    """A file whose every line stands for itself."""

    path: Path
    style: Style = "plain text"

    @property
    def kind(self) -> Kind:
        return KINDS[self.style]

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)

    @property
    def shape(self) -> str:
        spelling = {"fastText": ", __label__NAME text", "SCAN": ", IN: source OUT: target"}
        packed = packed_as(self.path)
        return f"{self.path.name}, {self.style}{packed}{spelling.get(self.style, '')}"

    def read(self, reading: Reading) -> Iterator[Row]:
        for line in reading.sound_lines(self.path):
            parts = self._parts(line.text)
            if parts is None:
                reading.tally.drop("not in this format", self.path, line.number)
            else:
                yield from reading.row(self.kind, self.path, line.number, *parts)

    def _parts(self, text: str) -> tuple[str, ...] | None:
        if self.style == "plain text" or not text.strip():
            return text, ""
        if self.style == "fastText":
            label, *rest = text.split(maxsplit=1)
            named_once = label.startswith(LABEL_MARK) and LABEL_MARK not in "".join(rest)
            return ("".join(rest), label.removeprefix(LABEL_MARK)) if named_once else None
        source, out, target = text.removeprefix("IN:").partition(" OUT:")
        return (source.strip(), target.strip()) if out and text.startswith("IN:") else None
