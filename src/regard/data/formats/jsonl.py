"""JSON lines: one object a line, its fields known by their names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from regard.data.example import KIND_OF, Kind, Line, Pair, Pointed, Tagged, TaskName
from regard.data.formats.format import Format, Reading, Row, packed_as
from regard.data.formats.naming import TEXT, roles
from regard.errors import DataError


@final
@dataclass(frozen=True)
class JsonLines(Format):
    """The fields to read; a dotted one lies inside an object: `translation.en`."""

    path: Path
    of: Kind
    first: str
    second: str = ""

    @property
    def kind(self) -> Kind:
        return self.of

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)

    @property
    def shape(self) -> str:
        fields = f"'{self.first}' and '{self.second}'" if self.second else f"'{self.first}'"
        return f"{self.path.name}, JSON lines{packed_as(self.path)}, {fields}"

    def read(self, reading: Reading) -> Iterator[Row]:
        for line in reading.sound_lines(self.path):
            if not line.text.strip():
                reading.tally.drop("empty", self.path, line.number)
                continue
            record = parsed(line.text, f"{self.path}:{line.number}")
            values = [_inside(record, name) for name in (self.first, self.second) if name]
            if any(value is None for value in values):
                reading.tally.drop("missing field", self.path, line.number)
            else:
                yield from self._row(reading, line.number, values)

    def _row(self, reading: Reading, number: int, values: Sequence[Any]) -> Iterator[Row]:
        if self.of is Pointed:
            yield from self._pointed(reading, number, values)
            return
        if self.of is Tagged and all(isinstance(value, list) for value in values):
            words, tags = (tuple(_text(item) for item in value) for value in values)
            if not _usable("".join(words + tags)):
                reading.tally.drop("not UTF-8", self.path, number)
            elif len(words) != len(tags):
                reading.tally.drop("not one tag a word", self.path, number)
            elif words or reading.keep_empty:
                yield Row(self.path, number, Tagged(words, tags))
            else:
                reading.tally.drop("empty", self.path, number)
            return
        texts = [_text(value).replace("\n", " ") for value in values]
        if not _usable("".join(texts)):
            reading.tally.drop("not UTF-8", self.path, number)
            return
        yield from reading.row(self.of, self.path, number, *texts)

    def _pointed(self, reading: Reading, number: int, values: Sequence[Any]) -> Iterator[Row]:
        try:
            items = tuple(tuple(float(x) for x in item) for item in values[0])
            positions = tuple(int(position) for position in values[1])
        except (TypeError, ValueError):
            reading.tally.drop("not numbers", self.path, number)
            return
        if not items or not all(0 <= position < len(items) for position in positions):
            reading.tally.drop("position outside the items", self.path, number)
        elif len({len(item) for item in items}) > 1:
            reading.tally.drop("items of different widths", self.path, number)
        else:
            yield Row(self.path, number, Pointed(items, positions))


def json_lines(path: Path, first_line: str, task: TaskName | None) -> JsonLines:
    """Which fields to read, from the first object."""
    record = parsed(first_line, f"{path}:1")
    names = list(record)
    found = _fields(path, record, names)
    if task == "language" or (found is None and task is None):
        text = next((name for name in names if name.lower() in TEXT), None)
        if text is not None:
            return JsonLines(path, Line, text)
    if found is None:
        raise DataError(
            "no two fields of the first object are known: " + ", ".join(names),
            where=f"{path}:1",
            remedy="name them src and tgt, text and label, or tokens and tags",
        )
    hinted = KIND_OF[task] if task is not None else found.of
    fixed = Pointed in (hinted, found.of) or hinted is Line
    return found if fixed else replace(found, of=hinted)


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


def _fields(path: Path, record: Mapping[str, Any], names: Sequence[str]) -> JsonLines | None:
    nested = record.get("translation")
    if isinstance(nested, dict) and len(nested) >= 2:
        one, other = list(nested)[:2]
        return JsonLines(path, Pair, f"translation.{one}", f"translation.{other}")
    if "items" in record and "positions" in record:
        return JsonLines(path, Pointed, "items", "positions")
    found = roles(names)
    return JsonLines(path, found.kind, names[found.first], names[found.second]) if found else None


def _inside(record: Mapping[str, Any], name: str) -> Any:
    if name in record:
        return record[name]
    outer, dot, inner = name.partition(".")
    below = record.get(outer)
    return below.get(inner) if dot and isinstance(below, dict) else None


def _text(value: Any) -> str:
    """A text as it is, a list as words with spaces between, anything else as JSON writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(_text(item) for item in value)
    return json.dumps(value, ensure_ascii=False)


def _usable(text: str) -> bool:
    """JSON can spell half a surrogate pair and NUL, which no UTF-8 text file may hold."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
