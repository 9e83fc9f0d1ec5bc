"""Pictures and texts about them: a table of file and text, or JSON lines, beside the pictures themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, final, runtime_checkable

from regard.data.example import Captioned, Kind
from regard.data.formats.format import PICTURES, Format, Reading, Row, packed_as
from regard.data.formats.record import parsed
from regard.data.formats.table import rows_of
from regard.question import SPELLED

FILE = ("file_name", "image", "picture", "file", "filename", "path", "png", "img", "image_path")
TEXT = ("text", "caption", "captions", "texts", "sentences", "latex", "formula", "label", "target")
NUMBERED = re.compile(r"#\d+$")  # Flickr8k writes dog.jpg#0 to dog.jpg#4


@runtime_checkable
class TableOfFiles(Protocol):
    """A table, or JSON lines, whose every row names a file."""

    @property
    def path(self) -> Path:
        """Of the table."""

    @property
    def file(self) -> int | str:
        """The column or field that names the file."""

    @property
    def text(self) -> int | str:
        """That which says something about it."""

    @property
    def separator(self) -> str:
        """Between two columns."""

    @property
    def header(self) -> bool:
        """Whether the first line names columns."""


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
        for number, name, texts in named_files(self, reading):
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


@final
@dataclass(frozen=True)
class FileColumns:
    """Which column of a table names a file, and which one says something about it."""

    file: int
    text: int
    header: bool


def named_files(table: TableOfFiles, reading: Reading) -> Iterator[tuple[int, str, list[str]]]:
    """Each line's number, the name of its file, and what it says."""
    path, skip = table.path, table.header
    for line in reading.sound_lines(path):
        if skip:
            skip = False
        elif not line.text.strip():
            reading.tally.drop("empty", path, line.number)
        elif isinstance(table.file, str):
            record = parsed(line.text, f"{path}:{line.number}")
            name, said = record.get(table.file), record.get(str(table.text))
            texts = said if isinstance(said, list) else [said]
            if not isinstance(name, str) or not all(isinstance(one, str) for one in texts):
                reading.tally.drop("missing field", path, line.number)
            else:
                yield line.number, name, [str(one).replace("\n", " ") for one in texts]
        else:
            cells = rows_of([line.text], table.separator)[0]
            if len(cells) <= max(table.file, int(table.text)):
                reading.tally.drop("missing column", path, line.number)
            else:
                yield line.number, cells[table.file], [cells[int(table.text)]]


def file_columns(
    path: Path,
    texts: Sequence[str],
    separator: str,
    wanted: bool,
    is_file: Callable[[Any], bool],
    heads: tuple[Sequence[str], Sequence[str]],
) -> FileColumns | None:
    """The columns of a table whose rows name such files; None where they name none.

    `heads` are the names that the two columns may have; `wanted` is whether such files are expected.
    """
    rows = [row for row in rows_of(texts, separator) if len(row) > 1]
    if not rows:
        return None
    names = [cell.strip().lower() for cell in rows[0]]
    header = any(name in heads[0] for name in names) and any(name in heads[1] for name in names)
    body = rows[1:] if header else rows
    columns = range(min(map(len, rows)))
    file = next((c for c in columns if header and names[c] in heads[0]), None)
    if file is None:
        named = [c for c in columns if body and all(is_file(row[c]) for row in body)]
        file = named[0] if named else None
    if file is None:
        return None
    cells = [row[file] for row in body]
    if not wanted and not (any(map(is_file, cells)) and some_exist(path, cells)):
        return None
    text = next((c for c in columns if header and names[c] in heads[1]), None)
    if text is None:
        others = [c for c in columns if c != file]
        text = max(others, key=lambda c: sum(len(row[c]) for row in body))
    return FileColumns(file, text, header)


def pictures(path: Path, texts: Sequence[str], separator: str, wanted: bool) -> Pictures | None:
    """A table whose rows name pictures; None for any other. `wanted` is whether pictures are expected."""
    found = file_columns(path, texts, separator, wanted, is_picture, (FILE, TEXT))
    if found is None:
        return None
    return Pictures(path, found.file, found.text, separator, found.header)


def picture_records(path: Path, record: Mapping[str, Any], wanted: bool) -> Pictures | None:
    """JSON lines whose first object names a picture; None for any other."""
    file = next((name for name in FILE if is_picture(record.get(name))), None)
    text = next((name for name in TEXT if isinstance(record.get(name), str | list)), None)
    if file is None or text is None:
        return None
    return Pictures(path, file, text) if wanted or some_exist(path, [record[file]]) else None


def is_picture(name: Any) -> bool:
    """Whether a cell names a file of pictures, by its suffix, or is a picture itself."""
    if not isinstance(name, str):
        return False
    bare = NUMBERED.sub("", name.strip()).lower()
    return bare.endswith(PICTURES) or bare.startswith("data:image/")


def located(folder: Path, name: str) -> str | None:
    """The path of a file that a table in this folder names: beside it, or in a folder below; else None."""
    name = NUMBERED.sub("", name.strip())
    if name.startswith(("data:image/", "data:audio/", SPELLED)):
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


def some_exist(path: Path, names: Sequence[str]) -> bool:
    return any(located(path.parent, name) is not None for name in names[:20])
