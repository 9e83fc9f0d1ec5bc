"""What the messages of an Arrow stream would unpack to, read from their headers before pyarrow unpacks them.

A message is a mark, a length, that many bytes of flatbuffer, and a body. A batch of rows lists the buffers of
its body; where they are compressed, each begins with the number of bytes that it unpacks to. A file is a
stream that stands between two marks, with an index behind it.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from regard.errors import DataError

MARK = b"\xff\xff\xff\xff"
MAGIC = b"ARROW1"
MOST_UNPACKED, FREE = 200, 1 << 20  # as of any compressed text
_DICTIONARY, _BATCH = 2, 3  # kinds of messages


def refuse_bombs(path: Path, start: int) -> None:
    """Stop where a batch unpacks to far more than it is, or a file has lost its end."""
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(size - len(MAGIC), 0))
        if start and file.read() != MAGIC:
            raise ValueError("it ends before its end mark")
        file.seek(start)
        for metadata, body, length in _messages(file, size):
            if sum(_unpacked(file, metadata, body)) > FREE + MOST_UNPACKED * length:
                raise too_much(path)


def too_much(path: Path) -> DataError:
    """The complaint about a file that was made to fill the memory."""
    return DataError(
        f"the data unpacks to more than {MOST_UNPACKED} times its size, as no text does",
        where=str(path),
        remedy="write it again without compression, if you trust it",
    )


class _Table(NamedTuple):
    """A table of a flatbuffer: a place in its bytes, from which a list of offsets is found."""

    data: bytes
    place: int

    def find(self, number: int) -> int | None:
        """Where a field is; None where it has its default."""
        directory = self.place - struct.unpack_from("<i", self.data, self.place)[0]
        if 4 + 2 * number >= struct.unpack_from("<H", self.data, directory)[0]:
            return None
        offset = struct.unpack_from("<H", self.data, directory + 4 + 2 * number)[0]
        return self.place + offset if offset else None

    def number(self, field: int, kind: str) -> int:
        place = self.find(field)
        return 0 if place is None else int(struct.unpack_from(kind, self.data, place)[0])

    def below(self, field: int) -> _Table | None:
        """The table, or the vector, that a field points to."""
        place = self.find(field)
        if place is None:
            return None
        return _Table(self.data, place + struct.unpack_from("<I", self.data, place)[0])


def _messages(file: io.BufferedReader, size: int) -> Iterator[tuple[_Table, int, int]]:
    """Each message's flatbuffer, and where its body begins and how long it is."""
    while len(head := file.read(4)) == 4:
        length = struct.unpack("<i", file.read(4) if head == MARK else head)[0]
        if not length:
            return
        place = file.tell()
        if not 0 < length <= size - place:
            raise ValueError("a message is longer than the file")
        metadata = file.read(length)
        message = _Table(metadata, struct.unpack_from("<I", metadata)[0])
        body, count = place + length, message.number(3, "<q")
        if not 0 <= count <= size - body:
            raise ValueError("a message's body is longer than the file")
        yield message, body, count
        file.seek(body + count)


def _unpacked(file: io.BufferedReader, message: _Table, body: int) -> Iterator[int]:
    """The bytes that each compressed buffer of a message unpacks to, as it says itself."""
    kind, batch = message.number(1, "<B"), message.below(2)
    if kind == _DICTIONARY and batch is not None:
        batch = batch.below(1)
    buffers = batch.below(2) if batch is not None and kind in (_DICTIONARY, _BATCH) else None
    if batch is None or buffers is None or batch.find(3) is None:  # 3: how it is compressed
        return
    count = struct.unpack_from("<I", buffers.data, buffers.place)[0]
    for number in range(min(count, len(buffers.data) // 16)):
        offset, length = struct.unpack_from("<qq", buffers.data, buffers.place + 4 + 16 * number)
        if length >= 8:
            file.seek(body + offset)
            yield max(struct.unpack("<q", file.read(8))[0], 0)
