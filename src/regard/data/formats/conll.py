"""One word a line, a blank line between sentences: CoNLL-2003 and its kin, and CoNLL-U."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, final

from regard.data.example import Kind, Tagged
from regard.data.formats.format import OneFile, Reading, Row, packed_as
from regard.data.lines import TextLine, read_lines

MOST_WORDS = 10_000  # a file without blank lines must not become one sentence in memory


@final
@dataclass(frozen=True)
class Conll(OneFile):
    """`2003`: the first column is the word, the last the tag. `U`: FORM and UPOS of the real words."""

    style: Literal["2003", "U"]

    @property
    def kind(self) -> Kind:
        return Tagged

    @property
    def shape(self) -> str:
        columns = "FORM and UPOS" if self.style == "U" else "first column (word), last column (tag)"
        return f"{self.path.name}, CoNLL-{self.style}{packed_as(self.path)}, {columns}"

    def read(self, reading: Reading) -> Iterator[Row]:
        words: list[tuple[str, str]] = []
        begin, fault = 0, ""
        for line in reading.lines(self.path):
            if not line.text.strip() and not line.fault:
                yield from self._sentence(reading, begin, words, fault)
                words, begin, fault = [], 0, ""
                continue
            begin = begin or line.number
            cells = () if line.fault else self._cells(line.text)
            if cells is None:
                continue
            if len(words) >= MOST_WORDS:
                fault = fault or "too long"
            elif len(cells) == 2:
                words.append((cells[0], cells[1]))
            else:
                fault = fault or line.fault or "missing column"
        yield from self._sentence(reading, begin, words, fault)

    def _sentence(
        self, reading: Reading, begin: int, words: Sequence[tuple[str, str]], fault: str
    ) -> Iterator[Row]:
        if fault:
            reading.tally.drop(fault, self.path, begin)
        elif words:
            forms, tags = zip(*words, strict=True)
            yield Row(self.path, begin, Tagged(forms, tags))

    def _cells(self, text: str) -> tuple[str, ...] | None:
        """Word and tag; () for a broken row, None for a row that is no word."""
        if self.style == "U":
            return _universal(text)
        cells = _split(text)
        if cells[0] == "-DOCSTART-":
            return None
        return (cells[0], cells[-1]) if len(cells) > 1 else ()


def _split(text: str) -> list[str]:
    """Cells between tabs, or else between spaces; other white space belongs to a word."""
    return [cell for cell in text.split("\t" if "\t" in text else " ") if cell.strip()]


def _universal(text: str) -> tuple[str, ...] | None:
    """Comments, multiword tokens (3-4) and empty nodes (8.1) are no words of the sentence."""
    if text.startswith("#"):
        return None
    cells = text.split("\t")
    if len(cells) != 10:
        return ()
    return (cells[1], cells[3]) if cells[0].isdecimal() else None


def trees(
    path: Path,
) -> Iterator[tuple[str, tuple[str, ...], tuple[tuple[int, int, str], ...]]]:
    """The sentences of a CoNLL-U file: text, words, and (dependent, head, relation) by number from 0.

    A sub-type of a relation (nsubj:pass) counts as the relation. Sentences that break the format are skipped.
    """
    rows: list[list[str]] = []
    text = ""
    for line in chain(read_lines(path), [TextLine(0, "")]):
        if line.text.startswith("# text = "):
            text = line.text.removeprefix("# text = ").strip()
        elif line.text.strip() and not line.text.startswith("#"):
            rows.append(line.text.split("\t"))
        elif not line.text.strip():
            words = [cells for cells in rows if cells[0].isdecimal()]
            whole = all(len(cells) == 10 and cells[6].isdecimal() for cells in words)
            if words and whole and all(int(cells[6]) <= len(words) for cells in words):
                forms = tuple(cells[1] for cells in words)
                arcs = tuple(
                    (number, int(cells[6]) - 1, cells[7].partition(":")[0])
                    for number, cells in enumerate(words)
                    if int(cells[6])
                )
                yield text or " ".join(forms), forms, arcs
            rows, text = [], ""


def looks_universal(rows: Sequence[str]) -> bool:
    """Ten columns, the first of them a number."""
    words = [row.split("\t") for row in rows if row.strip() and not row.startswith("#")]
    return bool(words) and all(len(cells) == 10 and cells[0][:1].isdecimal() for cells in words)


def looks_tagged(rows: Sequence[str], certain: bool) -> bool:
    """Rows of equal width; unless `certain`, also blank lines between and a few tags at the end."""
    if rows[0].startswith("-DOCSTART-"):
        return True
    words = [_split(row) for row in rows if row.strip()]
    widths = {len(cells) for cells in words}
    if len(widths) > 1 or widths == {1} or any(" " in cell for cells in words for cell in cells):
        return False
    tags = {cells[-1] for cells in words}
    taglike = all(tag == tag.upper() or "-" in tag for tag in tags)
    parted = len(words) < len(rows) and len(tags) <= max(4, len(words) // 3)
    return certain or (taglike and parted)
