"""Trees in brackets, as the Penn Treebank has them: one after another, over as many lines as they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from regard.data.example import Kind, Parsed
from regard.data.formats.format import OneFile, Reading, Row, packed_as
from regard.errors import DataError
from regard.text.trees import cleaned, read_trees

MOST_LINES = 2_000  # of one tree: a bracket that is never closed must not take all memory


@final
@dataclass(frozen=True)
class Bracketed(OneFile):
    """`( (S (NP-SBJ (DT The) (NN cat)) (VP (VBD sat))) )`: traces and functions (-SBJ) are left out."""

    @property
    def kind(self) -> Kind:
        return Parsed

    @property
    def shape(self) -> str:
        return f"{self.path.name}, trees in brackets{packed_as(self.path)}"

    def read(self, reading: Reading) -> Iterator[Row]:
        begin, depth, held, fault = 0, 0, list[str](), ""
        for line in reading.lines(self.path):
            if not held and not line.text.strip() and not line.fault:
                continue
            begin = begin or line.number
            fault = fault or line.fault or ("too long" if len(held) >= MOST_LINES else "")
            depth += line.text.count("(") - line.text.count(")")
            if not fault:
                held.append(line.text)
            if depth <= 0:
                yield from self._trees(reading, begin, "\n".join(held), fault)
                begin, depth, held, fault = 0, 0, [], ""
        if held:
            yield from self._trees(reading, begin, "\n".join(held), fault or "never closed")

    def _trees(self, reading: Reading, begin: int, text: str, fault: str) -> Iterator[Row]:
        try:
            trees = [] if fault else [cleaned(tree) for tree in read_trees(text)]
        except DataError:
            trees, fault = [], "not a tree"
        if fault:
            reading.tally.drop(fault, self.path, begin)
        for tree in trees:
            if tree is None or tree.is_tag:
                reading.tally.drop("empty", self.path, begin)
            else:
                yield Row(self.path, begin, Parsed(tree.words, str(tree)))


def looks_bracketed(texts: Sequence[str]) -> bool:
    """The first line opens two brackets at least, and each line behind it goes on in them."""
    first = texts[0].lstrip()
    if not first.startswith("(") or "\t" in first:
        return False
    joined = "\n".join(texts)
    return (
        joined.count("(") > 3
        and abs(joined.count("(") - joined.count(")")) < 60
        and all(text.lstrip().startswith(("(", ")")) for text in texts)
    )
