"""JSON lines: one object a line, its fields known by their names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from regard.data.example import Kind, TaskName
from regard.data.formats.format import Format, Reading, Row, packed_as
from regard.data.formats.record import Fields, fields_of
from regard.errors import DataError


@final
@dataclass(frozen=True)
class JsonLines(Format):
    """One file of objects, and the fields of each that are read."""

    path: Path
    fields: Fields

    @property
    def kind(self) -> Kind:
        return self.fields.of

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)

    @property
    def shape(self) -> str:
        return f"{self.path.name}, JSON lines{packed_as(self.path)}, {self.fields}"

    def read(self, reading: Reading) -> Iterator[Row]:
        for line in reading.sound_lines(self.path):
            if not line.text.strip():
                reading.tally.drop("empty", self.path, line.number)
                continue
            record = parsed(line.text, f"{self.path}:{line.number}")
            yield from self.fields.rows(reading, self.path, line.number, record)


def json_lines(path: Path, first_line: str, task: TaskName | None) -> JsonLines:
    """Which fields to read, from the first object."""
    record = parsed(first_line, f"{path}:1")
    fields = fields_of(record, task)
    if fields is None:
        raise DataError(
            "no two fields of the first object are known: " + ", ".join(record),
            where=f"{path}:1",
            remedy="name them src and tgt, text and label, or tokens and tags",
        )
    return JsonLines(path, fields)


def parsed(text: str, where: str) -> dict[str, Any]:
    """One line as a JSON object."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise DataError(f"this line is not JSON: {fault}", where=where) from None
    if not isinstance(record, dict):
        raise DataError(
            "this line is JSON, but not an object",
            where=where,
            remedy='write one object a line: {"src": "...", "tgt": "..."}',
        )
    return record
