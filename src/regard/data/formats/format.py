"""What every format is: a value that names its files, says its shape in words, and reads rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal, NamedTuple, final

from regard.data.drift import uneven
from regard.data.example import Example, Kind, Labelled, Line, Pair
from regard.data.lines import LINE_BOUND, OnBadUtf8, TextLine, bare_name, compression_of, read_lines
from regard.data.tally import Tally


class Row(NamedTuple):
    """An example and the place it came from."""

    path: Path
    line: int
    example: Example

    @property
    def place(self) -> str:
        """`train.en:17`."""
        return f"{self.path}:{self.line}"


@final
@dataclass(frozen=True)
class Reading:
    """How strictly one reading goes, and the tally it fills."""

    tally: Tally
    on_bad_utf8: OnBadUtf8 = "stop"
    keep_empty: bool = False

    def lines(self, path: Path) -> Iterator[TextLine]:
        """Every line, those with a fault too."""
        return read_lines(path, on_bad_utf8=self.on_bad_utf8, notes=self.tally.notes)

    def sound_lines(self, path: Path) -> Iterator[TextLine]:
        """The lines without a fault; the others are dropped and counted."""
        for line in self.lines(path):
            if line.fault:
                self.tally.drop(line.fault, path, line.number)
            else:
                yield line

    def row(self, kind: Kind, path: Path, line: int, first: str, second: str = "") -> Iterator[Row]:
        """One example from its one or two texts, or nothing, with the reason counted."""
        example = self._example(kind, first, second)
        if isinstance(example, str):
            self.tally.drop(example, path, line)
        else:
            yield Row(path, line, example)

    def _example(self, kind: Kind, first: str, second: str) -> Example | str:
        """The example, or the reason why there is none."""
        empty = not first.strip() or (kind is not Line and not second.strip())
        if empty and not self.keep_empty:
            return "empty"
        return kind.made(first, second)


class Format(ABC):
    """How one file, two files side by side, or a folder are read."""

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """The class of example that comes out."""

    @property
    @abstractmethod
    def paths(self) -> tuple[Path, ...]:
        """The files, source before target."""

    @property
    @abstractmethod
    def shape(self) -> str:
        """What was understood, in words."""

    @abstractmethod
    def read(self, reading: Reading) -> Iterator[Row]:
        """The rows, in the order of the file."""


@dataclass(frozen=True)
class OneFile(Format):
    """A format of one file."""

    path: Path

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)


def packed_as(path: Path) -> str:
    """`, gzip` behind the name of a format, or nothing for a plain file."""
    compression = compression_of(path)
    return f", {compression}" if compression else ""


# Plain text: one line an example, two files side by side, or a folder whose names are labels.

Style = Literal["plain text", "fastText", "SCAN"]
KINDS: dict[Style, Kind] = {"plain text": Line, "fastText": Labelled, "SCAN": Pair}
LABEL_MARK = "__label__"
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".ppm", ".pgm", ".npz")
SOUNDS = (".wav", ".wave", ".flac", ".ogg", ".mp3", ".m4a", ".opus")


@final
@dataclass(frozen=True)
class Lined(OneFile):
    """A file whose every line stands for itself."""

    style: Style = "plain text"

    @property
    def kind(self) -> Kind:
        return KINDS[self.style]

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


@final
@dataclass(frozen=True)
class Parallel(Format):
    """`train.en` beside `train.de`; also texts beside labels, and words beside tags."""

    first: Path
    second: Path
    of: Kind = Pair

    @property
    def kind(self) -> Kind:
        return self.of

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.first, self.second

    @property
    def shape(self) -> str:
        one, other = self.of.sides
        names = f"{self.first.name} ({one}) beside {self.second.name} ({other})"
        return f"{names}, plain text{packed_as(self.first)}"

    def read(self, reading: Reading) -> Iterator[Row]:
        both = zip_longest(reading.lines(self.first), reading.lines(self.second))
        for one, other in both:
            if one is None or other is None:
                raise uneven(self.first, self.second)
            if one.fault:
                reading.tally.drop(one.fault, self.first, one.number)
            elif other.fault:
                reading.tally.drop(other.fault, self.second, other.number)
            else:
                yield from reading.row(self.of, self.first, one.number, one.text, other.text)


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
    labelled = [
        (below.name, path) for below in listed(folder) if below.is_dir() for path in listed(below)
    ]
    files = tuple((label, path) for label, path in labelled if path.is_file())
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
        if path.is_file()
        and not path.name.lower().startswith(about)
        and path.suffix.lower() not in (*PICTURES, *SOUNDS)
    ]


def listed(folder: Path) -> list[Path]:
    """What lies in a folder, hidden names left out, in the same order everywhere."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
