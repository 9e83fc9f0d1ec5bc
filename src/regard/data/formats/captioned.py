"""Pictures and texts about them: a table of file and text, or JSON lines, beside the pictures themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, final

from regard.data.example import Captioned, Kind
from regard.data.formats.format import PICTURES, Format, Reading, Row, packed_as
from regard.data.formats.record import parsed
from regard.data.formats.table import rows_of

FILE = ("file_name", "image", "picture", "file", "filename", "path", "png", "img", "image_path")
TEXT = ("text", "caption", "captions", "texts", "sentences", "latex", "formula", "label", "target")
NUMBERED = re.compile(r"#\d+$")  # Flickr8k writes dog.jpg#0 to dog.jpg#4


@final
@dataclass(frozen=True)
class Pictures(Format):
    """A file whose lines name a picture and say something about it; neighbours about one picture are one.

    `file` and `text` are columns of a table, counted from 0, or names of fields.
    """

    path: Path
    file: int | str
    text: int | str
    separator: str = "\t"
    header: bool = False

    @property
    def kind(self) -> Kind:
        return Captioned

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)

    @property
    def shape(self) -> str:
        style = "JSON lines" if isinstance(self.file, str) else "table"
        where = (
            f"'{self.file}' and '{self.text}'"
            if isinstance(self.file, str)
            else f"column {self.file + 1} (picture) and column {int(self.text) + 1} (text)"
        )
        return f"{self.path.name}, {style}{packed_as(self.path)}, {where}"

    def read(self, reading: Reading) -> Iterator[Row]:
        held: tuple[int, str, list[str]] | None = None
        for number, name, texts in self._named(reading):
            found = located(self.path.parent, name)
            if found is None:
                reading.tally.drop("no such picture", self.path, number)
                continue
            said = [text for text in texts if text.strip() or reading.keep_empty]
            if not said:
                reading.tally.drop("empty", self.path, number)
                continue
            if held is not None and held[1] == found:
                held[2].extend(said)
                continue
            if held is not None:
                yield Row(self.path, held[0], Captioned(held[1], tuple(held[2])))
            held = (number, found, said)
        if held is not None:
            yield Row(self.path, held[0], Captioned(held[1], tuple(held[2])))

    def _named(self, reading: Reading) -> Iterator[tuple[int, str, list[str]]]:
        """Each line's number, the name of its picture, and what it says."""
        skip = self.header
        for line in reading.sound_lines(self.path):
            if skip:
                skip = False
            elif not line.text.strip():
                reading.tally.drop("empty", self.path, line.number)
            elif isinstance(self.file, str):
                record = parsed(line.text, f"{self.path}:{line.number}")
                name, said = record.get(self.file), record.get(str(self.text))
                texts = said if isinstance(said, list) else [said]
                if not isinstance(name, str) or not all(isinstance(one, str) for one in texts):
                    reading.tally.drop("missing field", self.path, line.number)
                else:
                    yield line.number, name, [str(one).replace("\n", " ") for one in texts]
            else:
                cells = rows_of([line.text], self.separator)[0]
                if len(cells) <= max(self.file, int(self.text)):
                    reading.tally.drop("missing column", self.path, line.number)
                else:
                    yield line.number, cells[self.file], [cells[int(self.text)]]


def pictures(path: Path, texts: Sequence[str], separator: str, wanted: bool) -> Pictures | None:
    """A table whose rows name pictures; None for any other. `wanted` is whether pictures are expected."""
    rows = [row for row in rows_of(texts, separator) if len(row) > 1]
    if not rows:
        return None
    names = [cell.strip().lower() for cell in rows[0]]
    header = any(name in FILE for name in names) and any(name in TEXT for name in names)
    body = rows[1:] if header else rows
    columns = range(min(map(len, rows)))
    file = next((c for c in columns if header and names[c] in FILE), None)
    if file is None:
        named = [c for c in columns if body and all(is_picture(row[c]) for row in body)]
        file = named[0] if named else None
    if file is None or not (wanted or _some_exist(path, [row[file] for row in body])):
        return None
    text = next((c for c in columns if header and names[c] in TEXT), None)
    if text is None:
        others = [c for c in columns if c != file]
        text = max(others, key=lambda c: sum(len(row[c]) for row in body))
    return Pictures(path, file, text, separator, header)


def picture_records(path: Path, record: Mapping[str, Any], wanted: bool) -> Pictures | None:
    """JSON lines whose first object names a picture; None for any other."""
    file = next((name for name in FILE if is_picture(record.get(name))), None)
    text = next((name for name in TEXT if isinstance(record.get(name), str | list)), None)
    if file is None or text is None:
        return None
    return Pictures(path, file, text) if wanted or _some_exist(path, [record[file]]) else None


def is_picture(name: Any) -> bool:
    """Whether a cell names a file of pictures, by its suffix."""
    return isinstance(name, str) and NUMBERED.sub("", name.strip()).lower().endswith(PICTURES)


def located(folder: Path, name: str) -> str | None:
    """The path of a picture that a table in this folder names: beside it, or in a folder below; else None."""
    name = NUMBERED.sub("", name.strip())
    if name.startswith("data:image/"):
        return name
    below, inner = folder / name, Path(name)
    if "\0" in name:
        return None
    with suppress(OSError):  # a cell can be longer than any path
        if below.is_file():
            return str(below)
        for other in _folders(folder, folder.stat().st_mtime_ns):
            if inner.name in _names(other, other.stat().st_mtime_ns):
                return str(other / inner.name)
    return None


@lru_cache(maxsize=64)
def _folders(folder: Path, _changed: int) -> tuple[Path, ...]:
    return tuple(sorted(path for path in folder.iterdir() if path.is_dir()))


@lru_cache(maxsize=64)
def _names(folder: Path, _changed: int) -> frozenset[str]:
    return frozenset(path.name for path in folder.iterdir() if path.is_file())


def _some_exist(path: Path, names: Sequence[str]) -> bool:
    return any(located(path.parent, name) is not None for name in names[:20])
