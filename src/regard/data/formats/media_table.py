"""Tables of files: pictures with texts about them, sounds with what is said in them, beside the table itself.

A row of a table (TSV, CSV) or an object of JSON lines names a file and the text that belongs to it.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, final

from regard.data.example import Captioned, Kind, Spoken
from regard.data.formats.format import PICTURES, SOUNDS, OneFile, Reading, Row, packed_as
from regard.data.formats.record import parsed
from regard.data.formats.table import rows_of
from regard.errors import DataError
from regard.question import SPELLED

NUMBERED = re.compile(r"#\d+$")  # Flickr8k writes dog.jpg#0 to dog.jpg#4
PICTURE_DATA, SOUND_DATA = ("data:image/",), ("data:audio/", SPELLED)  # a cell that is its own data


@dataclass(frozen=True)
class MediaTable(OneFile):
    """A file whose lines name another file and the text that belongs to it.

    `file` and `text` are columns of a table, counted from 0, or names of fields.
    """

    file: int | str
    text: int | str
    separator: str = "\t"
    header: bool = False

    of: ClassVar[Kind]
    noun: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    data: ClassVar[tuple[str, ...]]  # how a cell begins that holds the picture or sound itself
    file_names: ClassVar[tuple[str, ...]]  # how the column of files may be called
    text_names: ClassVar[tuple[str, ...]]
    text_types: ClassVar[tuple[type, ...]] = (str,)  # of a field of JSON lines

    @property
    def kind(self) -> Kind:
        return self.of

    @property
    def shape(self) -> str:
        if isinstance(self.file, str):
            style, where = "JSON lines", f"'{self.file}' and '{self.text}'"
        else:
            style = "table"
            where = f"column {self.file + 1} ({self.noun}) and column {int(self.text) + 1} (text)"
        return f"{self.path.name}, {style}{packed_as(self.path)}, {where}"

    def read(self, reading: Reading) -> Iterator[Row]:
        return self.rows(self._located(reading), reading)

    @abstractmethod
    def rows(
        self, located: Iterator[tuple[int, str, list[str]]], reading: Reading
    ) -> Iterator[Row]:
        """The examples, from each line's number, the path of its file, and its texts."""

    @classmethod
    def from_table(
        cls, path: Path, texts: Sequence[str], separator: str, wanted: bool
    ) -> MediaTable | None:
        """A table whose first rows name such files; None for any other. They may be `wanted` for sure."""
        rows = [row for row in rows_of(texts, separator) if len(row) > 1]
        if not rows:
            return None
        titles = [cell.strip().lower() for cell in rows[0]]
        header = not (
            set(titles).isdisjoint(cls.file_names) or set(titles).isdisjoint(cls.text_names)
        )
        body = rows[1:] if header else rows
        columns = range(min(map(len, rows)))
        file = next((c for c in columns if header and titles[c] in cls.file_names), None)
        if file is None:
            of_files = (c for c in columns if body and all(cls.is_file(row[c]) for row in body))
            file = next(of_files, None)
        if file is None:
            return None
        cells = [row[file] for row in body]
        if not wanted and not (any(map(cls.is_file, cells)) and _some_exist(path, cells)):
            return None
        text = next((c for c in columns if header and titles[c] in cls.text_names), None)
        if text is None:  # the widest of the other columns
            others = [c for c in columns if c != file]
            text = max(others, key=lambda c: sum(len(row[c]) for row in body))
        return cls(path, file, text, separator, header)

    @classmethod
    def from_records(cls, path: Path, record: Mapping[str, Any], wanted: bool) -> MediaTable | None:
        """JSON lines whose first object names such a file; None for any other."""
        file = next((name for name in cls.file_names if cls.is_file(record.get(name))), None)
        text = next(
            (name for name in cls.text_names if isinstance(record.get(name), cls.text_types)), None
        )
        if file is None or text is None:
            return None
        return cls(path, file, text) if wanted or _some_exist(path, [record[file]]) else None

    @classmethod
    def is_file(cls, cell: Any) -> bool:
        """Whether a cell names such a file, by its suffix, or is its data."""
        if not isinstance(cell, str):
            return False
        name = NUMBERED.sub("", cell.strip()).lower()
        return name.endswith(cls.suffixes) or name.startswith(cls.data)

    def _located(self, reading: Reading) -> Iterator[tuple[int, str, list[str]]]:
        """Each line's number, the path of its file, and its texts; files that are not there are dropped."""
        for number, name, texts in self._named(reading):
            path = located(self.path.parent, name)
            if path is None:
                reading.tally.drop(f"no such {self.noun}", self.path, number)
            else:
                yield number, path, texts

    def _named(self, reading: Reading) -> Iterator[tuple[int, str, list[str]]]:
        """Each line's number, the name of its file, and its texts."""
        skip_header = self.header
        for line in reading.sound_lines(self.path):
            if skip_header:
                skip_header = False
            elif not line.text.strip():
                reading.tally.drop("empty", self.path, line.number)
            elif isinstance(self.file, str):
                record = parsed(line.text, f"{self.path}:{line.number}")
                name, text = record.get(self.file), record.get(str(self.text))
                texts = text if isinstance(text, list) else [text]
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


@final
@dataclass(frozen=True)
class Pictures(MediaTable):
    """Pictures and texts about them; neighbouring lines about one picture are one example."""

    of = Captioned
    noun = "picture"
    suffixes = PICTURES
    data = PICTURE_DATA
    file_names = (
        "file_name", "image", "picture", "file", "filename", "path", "png", "img", "image_path"
    )  # fmt: skip
    text_names = (
        "text", "caption", "captions", "texts", "sentences", "latex", "formula", "label", "target"
    )  # fmt: skip
    text_types = (str, list)

    def rows(
        self, located: Iterator[tuple[int, str, list[str]]], reading: Reading
    ) -> Iterator[Row]:
        held: tuple[int, str, list[str]] | None = None
        for number, picture, texts in located:
            about = [text for text in texts if text.strip() or reading.keep_empty]
            if not about:
                reading.tally.drop("empty", self.path, number)
            elif held is not None and held[1] == picture:
                held[2].extend(about)
            else:
                if held is not None:
                    yield Row(self.path, held[0], Captioned(held[1], tuple(held[2])))
                held = (number, picture, about)
        if held is not None:
            yield Row(self.path, held[0], Captioned(held[1], tuple(held[2])))


@final
@dataclass(frozen=True)
class Sounds(MediaTable):
    """Sounds and what is said in each."""

    of = Spoken
    noun = "sound"
    suffixes = SOUNDS
    data = SOUND_DATA
    file_names = (
        "file_name", "audio", "sound", "wav", "file", "filename", "path", "audio_filepath", "clip"
    )  # fmt: skip
    text_names = ("text", "sentence", "transcript", "transcription", "words", "label", "target")

    def rows(
        self, located: Iterator[tuple[int, str, list[str]]], reading: Reading
    ) -> Iterator[Row]:
        for number, sound, texts in located:
            text = " ".join(texts)
            if text.strip() or reading.keep_empty:
                yield Row(self.path, number, Spoken(sound, text))
            else:
                reading.tally.drop("empty", self.path, number)


def located(folder: Path, name: str) -> str | None:
    """The path of a file that a table in this folder names: beside it, or in a folder below; else None.

    A name with a folder in it (`anna/1.wav`) is never the file of another folder (`ben/1.wav`).
    """
    name = NUMBERED.sub("", name.strip())
    if name.startswith((*PICTURE_DATA, *SOUND_DATA)):
        return name
    below, inner = folder / name, Path(name)
    if "\0" in name:
        return None
    with suppress(OSError):  # a cell can be longer than any path
        if below.is_file():
            return str(below)
        folders = _folders(folder, folder.stat().st_mtime_ns)
        if len(inner.parts) > 1:
            return next((str(one / name) for one in folders if (one / name).is_file()), None)
        holders = [one for one in folders if name in _names(one, one.stat().st_mtime_ns)]
        if len(holders) > 1:
            what = f"'{name}' lies in {holders[0].name} and in {holders[1].name}"
            raise DataError(what, str(folder), "name the folder in the table, too")
        return str(holders[0] / name) if holders else None
    return None


@lru_cache(maxsize=64)
def _folders(folder: Path, _changed: int) -> tuple[Path, ...]:
    return tuple(sorted(path for path in folder.iterdir() if path.is_dir()))


@lru_cache(maxsize=64)
def _names(folder: Path, _changed: int) -> frozenset[str]:
    return frozenset(path.name for path in folder.iterdir() if path.is_file())


def _some_exist(path: Path, names: Sequence[str]) -> bool:
    return any(located(path.parent, name) is not None for name in names[:20])
