"""Records with named fields, as JSON lines and Parquet hold them: which two to read, and what they make."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from regard.data.example import KIND_OF, Kind, Line, Pair, Pointed, Tagged, TaskName
from regard.data.formats.format import Reading, Row
from regard.data.formats.naming import TEXT, roles
from regard.data.lines import LINE_BOUND


@final
@dataclass(frozen=True)
class Fields:
    """The fields to read; a dotted one lies inside an object: `translation.en`."""

    of: Kind
    first: str
    second: str = ""

    def __str__(self) -> str:
        return f"'{self.first}' and '{self.second}'" if self.second else f"'{self.first}'"

    def rows(
        self, reading: Reading, path: Path, number: int, record: Mapping[str, Any]
    ) -> Iterator[Row]:
        """The example that one record holds, or nothing, with the reason counted."""
        values = [_inside(record, name) for name in (self.first, self.second) if name]
        if any(value is None for value in values):
            reading.tally.drop("missing field", path, number)
        elif self.of is Pointed:
            yield from _pointed(reading, path, number, values)
        elif self.of is Tagged and all(isinstance(value, list) for value in values):
            yield from _tagged(reading, path, number, values)
        else:
            texts = [_text(value).replace("\n", " ") for value in values]
            fault = _fault(texts)
            if fault:
                reading.tally.drop(fault, path, number)
            else:
                yield from reading.row(self.of, path, number, *texts)


def fields_of(record: Mapping[str, Any], task: TaskName | None) -> Fields | None:
    """Which fields to read, from the first record; None when no two of them are known."""
    names = list(record)
    found = _known(record, names)
    if task == "language" or (found is None and task is None):
        text = next((name for name in names if name.lower() in TEXT), None)
        if text is not None:
            return Fields(Line, text)
    if found is None:
        return None
    hinted = KIND_OF[task] if task is not None else found.of
    fixed = Pointed in (hinted, found.of) or hinted is Line
    return found if fixed else replace(found, of=hinted)


def _known(record: Mapping[str, Any], names: Sequence[str]) -> Fields | None:
    nested = record.get("translation")
    if isinstance(nested, dict) and len(nested) >= 2:
        one, other = list(nested)[:2]
        return Fields(Pair, f"translation.{one}", f"translation.{other}")
    if "items" in record and "positions" in record:
        return Fields(Pointed, "items", "positions")
    found = roles(names)
    return Fields(found.kind, names[found.first], names[found.second]) if found else None


def _tagged(reading: Reading, path: Path, number: int, values: Sequence[Any]) -> Iterator[Row]:
    words, tags = (tuple(_text(item) for item in value) for value in values)
    fault = _fault([" ".join(words), " ".join(tags)])
    if not fault and len(words) != len(tags):
        fault = "not one tag a word"
    if not fault and not words and not reading.keep_empty:
        fault = "empty"
    if fault:
        reading.tally.drop(fault, path, number)
    else:
        yield Row(path, number, Tagged(words, tags))


def _pointed(reading: Reading, path: Path, number: int, values: Sequence[Any]) -> Iterator[Row]:
    try:
        items = tuple(tuple(float(x) for x in item) for item in values[0])
        positions = tuple(int(position) for position in values[1])
    except (TypeError, ValueError):
        reading.tally.drop("not numbers", path, number)
        return
    if not items or not all(0 <= position < len(items) for position in positions):
        reading.tally.drop("position outside the items", path, number)
    elif len({len(item) for item in items}) > 1:
        reading.tally.drop("items of different widths", path, number)
    else:
        yield Row(path, number, Pointed(items, positions))


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
    return json.dumps(value, ensure_ascii=False, default=str)


def _fault(texts: Sequence[str]) -> str:
    """Records can hold half a surrogate pair, NUL and texts of any length, which no text file may."""
    if any(len(text) > LINE_BOUND for text in texts):
        return "too long"
    whole = "".join(texts)
    bad = "\0" in whole or any("\ud800" <= character <= "\udfff" for character in whole)
    return "not UTF-8" if bad else ""
