"""What every format is: a value that names its files, says its shape in words, and reads rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, final

from regard.data.compressed import compression_of
from regard.data.example import Example, Kind, Line, Tally
from regard.data.lines import OnBadUtf8, TextLine, read_lines


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


def packed_as(path: Path) -> str:
    """`, gzip` behind the name of a format, or nothing for a plain file."""
    compression = compression_of(path)
    return f", {compression}" if compression else ""
