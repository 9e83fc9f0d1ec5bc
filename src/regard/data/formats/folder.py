"""Folders that are data themselves: a sub-folder a label, or a file a label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from regard.data.compressed import bare_name
from regard.data.example import Kind, Labelled
from regard.data.formats.format import Format, Reading, Row
from regard.data.lines import LINE_BOUND


@final
@dataclass(frozen=True)
class LabelledFolder(Format):
    """With sub-folders, each file is one text; without, each line of a file named by its label is."""

    folder: Path
    files: tuple[tuple[str, Path], ...]
    by_line: bool

    @property
    def kind(self) -> Kind:
        return Labelled

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(path for _, path in self.files)

    @property
    def shape(self) -> str:
        labels = ", ".join(dict.fromkeys(label for label, _ in self.files))
        unit = "one file a label, one text a line" if self.by_line else "one folder a label"
        return f"{self.folder.name}, {unit} ({labels})"

    def read(self, reading: Reading) -> Iterator[Row]:
        for label, path in self.files:
            if self.by_line:
                for line in reading.sound_lines(path):
                    yield from reading.row(Labelled, path, line.number, line.text, label)
            else:
                yield from self._whole(reading, label, path)

    def _whole(self, reading: Reading, label: str, path: Path) -> Iterator[Row]:
        texts, size = [], 0
        for line in reading.lines(path):
            size += len(line.text)
            fault = "too long" if size > LINE_BOUND else line.fault
            if fault:
                reading.tally.drop(fault, path, line.number)
                return
            texts.append(line.text.strip())
        yield from reading.row(Labelled, path, 1, " ".join(filter(None, texts)), label)


def labelled_folders(folder: Path) -> LabelledFolder | None:
    """`reviews/pos/*.txt` and `reviews/neg/*.txt`, if that is what the folder holds."""
    found = [
        (below.name, path) for below in listed(folder) if below.is_dir() for path in listed(below)
    ]
    files = tuple((label, path) for label, path in found if path.is_file())
    labels = {label for label, _ in files}
    return LabelledFolder(folder, files, by_line=False) if len(labels) > 1 else None


def labelled_files(folder: Path) -> LabelledFolder | None:
    """`names/Arabic.txt` and `names/Greek.txt`: each line belongs to the class the file is named by."""
    files = tuple((bare_name(path).partition(".")[0], path) for path in readable(folder))
    return LabelledFolder(folder, files, by_line=True) if len(files) > 1 else None


def readable(folder: Path) -> list[Path]:
    """The files a person would call data: no read-me, no licence."""
    about = ("readme", "license", "licence", "copying", "changelog")
    return [
        path
        for path in listed(folder)
        if path.is_file() and not path.name.lower().startswith(about)
    ]


def listed(folder: Path) -> list[Path]:
    """What lies in a folder, hidden names left out, in the same order everywhere."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
