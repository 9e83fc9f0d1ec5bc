"""Sounds and what is said in them: a table of file and text, or JSON lines, beside the sounds themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from regard.data.example import Kind, Spoken
from regard.data.formats.captioned import file_columns, located, named_files, some_exist
from regard.data.formats.format import SOUNDS, Format, Reading, Row, packed_as
from regard.question import SPELLED

FILE = ("file_name", "audio", "sound", "wav", "file", "filename", "path", "audio_filepath", "clip")
TEXT = ("text", "sentence", "transcript", "transcription", "words", "label", "target")


@final
@dataclass(frozen=True)
class Sounds(Format):
    """A file whose lines name a sound and say what is said in it.

    `file` and `text` are columns of a table, counted from 0, or names of fields.
    """

    path: Path
    file: int | str
    text: int | str
    separator: str = "\t"
    header: bool = False

    @property
    def kind(self) -> Kind:
        return Spoken

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)

    @property
    def shape(self) -> str:
        style = "JSON lines" if isinstance(self.file, str) else "table"
        where = (
            f"'{self.file}' and '{self.text}'"
            if isinstance(self.file, str)
            else f"column {self.file + 1} (sound) and column {int(self.text) + 1} (text)"
        )
        return f"{self.path.name}, {style}{packed_as(self.path)}, {where}"

    def read(self, reading: Reading) -> Iterator[Row]:
        for number, name, texts in named_files(self, reading):
            found = located(self.path.parent, name)
            text = " ".join(texts)
            if found is None:
                reading.tally.drop("no such sound", self.path, number)
            elif not text.strip() and not reading.keep_empty:
                reading.tally.drop("empty", self.path, number)
            else:
                yield Row(self.path, number, Spoken(found, text))


def sounds(path: Path, texts: Sequence[str], separator: str, wanted: bool) -> Sounds | None:
    """A table whose rows name sounds; None for any other. `wanted` is whether sounds are expected."""
    found = file_columns(path, texts, separator, wanted, is_sound, (FILE, TEXT))
    if found is None:
        return None
    return Sounds(path, found.file, found.text, separator, found.header)


def sound_records(path: Path, record: Mapping[str, Any], wanted: bool) -> Sounds | None:
    """JSON lines whose first object names a sound; None for any other."""
    file = next((name for name in FILE if is_sound(record.get(name))), None)
    text = next((name for name in TEXT if isinstance(record.get(name), str)), None)
    if file is None or text is None:
        return None
    return Sounds(path, file, text) if wanted or some_exist(path, [record[file]]) else None


def is_sound(name: Any) -> bool:
    """Whether a cell names a file of sound, by its suffix, or is a sound itself."""
    if not isinstance(name, str):
        return False
    bare = name.strip().lower()
    return bare.endswith(SOUNDS) or bare.startswith(("data:audio/", SPELLED))
