"""XML as a stream of finished units: read block by block, with every entity declaration refused."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar, final
from xml.parsers import expat

from regard.data.compressed import opened
from regard.data.lines import LINE_BOUND
from regard.errors import DataError

U = TypeVar("U")
BLOCK = 1 << 16


class Collector(ABC, Generic[U]):
    """What a format makes of elements: it puts each unit that is complete into `finished`."""

    def __init__(self) -> None:
        self.finished: list[U] = []
        self.line = 1  # of the element that begins or ends
        self._text: list[str] = []
        self._size = 0
        self._listening = False

    @abstractmethod
    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins; its name comes without a namespace's prefix."""

    @abstractmethod
    def end(self, name: str) -> None:
        """An element ends."""

    @property
    def ignores_text(self) -> bool:
        """Whether text that comes now is markup of the original, not its words."""
        return False

    @final
    def listen(self) -> None:
        """From here on, text belongs to a segment."""
        self._text, self._size, self._listening = [], 0, True

    @final
    def heard(self) -> str:
        """The segment's text, on one line; as it is where it is over the bound, so that this still shows."""
        self._listening = False
        text = "".join(self._text)
        return text if self._size > LINE_BOUND else " ".join(text.split())

    @final
    def characters(self, text: str) -> None:
        """Some text; a segment must not fill the memory: a little over the bound is enough to know."""
        if self._listening and not self.ignores_text and self._size <= LINE_BOUND:
            self._text.append(text)
            self._size += len(text)


def units(path: Path, collector: Collector[U]) -> Iterator[U]:
    """The units of a file, one after another."""
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        collector.line = parser.CurrentLineNumber
        collector.start(name.rpartition(":")[2], attributes)

    def end(name: str) -> None:
        collector.line = parser.CurrentLineNumber
        collector.end(name.rpartition(":")[2])

    def refuse(name: str, *_: object) -> None:
        raise DataError(
            f"the file declares the entity '{name}', which could unpack to anything",
            where=f"{path}:{parser.CurrentLineNumber}",
            remedy="export it again without a DTD",
        )

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = collector.characters, refuse
    with opened(path) as stream:
        try:
            while block := stream.read(BLOCK):
                parser.Parse(block, False)
                yield from collector.finished
                collector.finished.clear()
            parser.Parse(b"", True)
        except expat.ExpatError as fault:
            raise DataError(
                f"this is not well-formed XML: {expat.ErrorString(fault.code)}",
                where=f"{path}:{fault.lineno}",
            ) from None
    yield from collector.finished
