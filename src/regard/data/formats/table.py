"""Tables, one row an example: TSV as Tatoeba and Anki write it, and CSV with its quotes."""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from regard.data.example import Kind
from regard.data.formats.format import OneFile, Reading, Row, packed_as
from regard.errors import DataError

CLASS_NAME = re.compile(r"[-+]?\w([\w.:/+&-]*\w)?$")


@final
@dataclass(frozen=True)
class Table(OneFile):
    """Two columns of a file, counted from 0; `separator` is a tab (no quoting) or CSV's comma."""

    of: Kind
    first: int = 0
    second: int = 1
    separator: str = "\t"
    header: tuple[str, ...] = ()
    columns: int = 2  # of the first row; those that are not read are said

    @property
    def kind(self) -> Kind:
        return self.of

    @property
    def shape(self) -> str:
        one, other = self.of.sides
        name = "TSV" if self.separator == "\t" else "CSV"
        columns = f"{self._column(self.first)} ({one}) and {self._column(self.second)} ({other})"
        unread = f" of {self.columns}" if self.columns > 2 else ""
        return f"{self.path.name}, {name}{packed_as(self.path)}, {columns}{unread}"

    def read(self, reading: Reading) -> Iterator[Row]:
        last = max(self.first, self.second)
        skip_header = bool(self.header)
        wider: list[int] = []
        for number, cells in self._records(reading):
            if len(cells) > self.columns:
                wider.append(number)
            if skip_header:
                skip_header = False
            elif len(cells) > last:
                first, second = cells[self.first], cells[self.second]
                yield from reading.row(self.of, self.path, number, first, second)
            elif not any(cells):
                yield from reading.row(self.of, self.path, number, "", "")
            else:
                reading.tally.drop("missing column", self.path, number)
        if wider:
            many = "1 row has" if len(wider) == 1 else f"{len(wider):,} rows have"
            what = f"{many} more than {self.columns} columns, and what stands behind was not read"
            reading.tally.notes.append(f"{self.path.name}: {what}: line {wider[0]:,}")

    def _column(self, index: int) -> str:
        return f"column '{self.header[index]}'" if self.header else f"column {index + 1}"

    def _records(self, reading: Reading) -> Iterator[tuple[int, Sequence[str]]]:
        if self.separator != "\t":
            yield from self._quoted_records(reading)
            return
        for line in reading.sound_lines(self.path):
            yield line.number, line.text.split("\t")

    def _quoted_records(self, reading: Reading) -> Iterator[tuple[int, Sequence[str]]]:
        """A quoted cell may hold line ends, so a record may take several lines."""
        begun: list[int] = []

        def feed() -> Iterator[str]:
            for line in reading.sound_lines(self.path):
                begun.append(line.number)
                yield hidden(line.text) + "\n"

        try:
            for cells in csv.reader(feed(), delimiter=self.separator):
                yield begun[0], [shown(cell) for cell in cells]
                begun.clear()
        except csv.Error as fault:
            raise DataError(
                f"a CSV record goes wrong here: {fault}",
                where=f"{self.path}:{begun[0]}",
                remedy="is a closing quote missing?",
            ) from None


def hidden(text: str) -> str:
    """A lone carriage return is text to us but a line end to `csv`; no sound line holds a NUL."""
    return text.replace("\r", "\0")


def shown(cell: str) -> str:
    """The cell as it was written, on one line."""
    return cell.replace("\0", "\r").replace("\n", " ")


def separator_of(texts: Sequence[str]) -> str:
    """The separator that cuts the first rows of a CSV file into the same number of cells."""
    for separator in (",", ";", "\t"):
        widths = {len(cells) for cells in rows_of(texts, separator) if cells}
        if len(widths) == 1 and widths != {1}:
            return separator
    return ","


def rows_of(texts: Sequence[str], separator: str) -> list[list[str]]:
    """The first rows as cells, to look at; a row that goes wrong is left to the reading itself."""
    if separator == "\t":
        return [text.split("\t") for text in texts]
    rows = []
    with contextlib.suppress(csv.Error):
        for cells in csv.reader(map(hidden, texts), delimiter=separator):
            rows.append([shown(cell) for cell in cells])
    return rows or [[""]]


def label_column(rows: Sequence[Sequence[str]]) -> int | None:
    """Which of two columns holds class names beside texts of several words; None when neither does."""
    for column in (0, 1):
        cells = [row[column].strip() for row in rows]
        texts = {row[1 - column] for row in rows}
        different = set(cells)
        few = len(different) <= max(2, len(cells) // 3) and len(different) < len(texts)
        if few and all(map(CLASS_NAME.match, different)) and any(" " in text for text in texts):
            return column
    return None


def likelier_labels(rows: Sequence[Sequence[str]]) -> int:
    """The column to take for class names where one must be: fewer different ones, then names beside texts."""
    columns = [[row[column].strip() for row in rows] for column in (0, 1)]

    def unlike(column: int) -> tuple[int, bool, int]:
        cells = columns[column]
        return len(set(cells)), not all(map(CLASS_NAME.match, cells)), sum(map(len, cells))

    return min((0, 1), key=unlike)
