"""Parquet and Arrow files, as data sets are shared today; read by `pyarrow`, which is an extra."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, final

from regard.data.example import Kind
from regard.data.formats.format import OneFile, Reading, Row
from regard.data.formats.record import Fields, fields_of
from regard.data.lines import compression_of
from regard.errors import DataError

Style = Literal["Parquet", "Arrow stream", "Arrow file"]
ROWS = 32  # at a time: one text may stand for all of them, and each becomes a copy
MOST_ROWS, FREE_ROWS = 2, 4096  # for a byte of the file, and for any file
INFORMATION = "dataset_info.json"
LARGEST_INFORMATION = 1 << 20


@final
@dataclass(frozen=True)
class Columnar(OneFile):
    """One file of columns. `names` are the classes that a column of numbers stands for, if it does."""

    style: Style
    fields: Fields
    names: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        return self.fields.of

    @property
    def shape(self) -> str:
        named = f" ({len(self.names)} class names)" if self.names else ""
        return f"{self.path.name}, {self.style}, columns {self.fields}{named}"

    def read(self, reading: Reading) -> Iterator[Row]:
        columns = [name.partition(".")[0] for name in (self.fields.first, self.fields.second)]
        few = _records(self.path, self.style, list(filter(None, columns)))
        for number, record in enumerate(chain.from_iterable(few), start=1):
            if self.names:
                record[self.fields.second] = _named(record[self.fields.second], self.names)
            yield from self.fields.rows(reading, self.path, number, record)


def columnar(path: Path, style: Style, hint: Kind | None) -> Columnar:
    """Which columns to read, from their names and the first record."""
    packed = compression_of(path)
    if packed:
        raise DataError(
            f"the file is compressed with {packed}, though {style} compresses by itself",
            where=str(path),
            remedy="unpack it first: it is read in pieces from anywhere in it",
        )
    records = next(filter(None, _records(path, style, None)), None)
    if records is None:
        raise DataError(
            "the file has no rows", where=str(path), remedy="name a file with examples in it"
        )
    fields = fields_of(records[0], hint)
    if fields is None:
        raise DataError(
            "no two columns are known: " + ", ".join(records[0]),
            where=str(path),
            remedy="name them src and tgt, text and label, or tokens and tags",
        )
    return Columnar(path, style, fields, _class_names(path, style, fields.second))


def style_of(start: bytes) -> Style | None:
    """By the first bytes of a file."""
    if start.startswith(b"PAR1"):
        return "Parquet"
    if start.startswith(b"ARROW1"):
        return "Arrow file"
    return "Arrow stream" if start.startswith(b"\xff\xff\xff\xff") else None


def is_columnar(path: Path) -> bool:
    """Whether the name is that of a data set or of a part of one, not of what a program cached beside it."""
    return path.suffix.lower() in (".parquet", ".arrow") and not path.name.startswith("cache-")


def _records(
    path: Path, style: Style, columns: Sequence[str] | None
) -> Iterator[list[dict[str, Any]]]:
    """The rows of some columns, a few at a time."""
    most = FREE_ROWS + MOST_ROWS * path.stat().st_size
    with _opened(path, style) as file:
        if style == "Parquet":
            _refuse_rows(file.metadata.num_rows, most, path)
            batches = file.iter_batches(batch_size=ROWS, columns=columns)
        else:
            batches = iter(file)
        for batch in batches:
            most -= batch.num_rows
            _refuse_rows(-most, 0, path)
            wanted = batch if columns is None else batch.select(columns)
            wanted.validate(
                full=True
            )  # offsets that point outside would be followed, to the process's end
            for start in range(0, batch.num_rows, ROWS):
                yield wanted.slice(start, ROWS).to_pylist()


def _refuse_rows(count: int, most: int, path: Path) -> None:
    if count > most:
        raise DataError(
            "the file has more rows than its bytes can tell apart",
            where=str(path),
            remedy="write its rows once each, or as TSV",
        )


@contextmanager
def _opened(path: Path, style: Style) -> Iterator[Any]:
    """The file as pyarrow sees it, and its complaints as ours."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError:
        raise DataError(
            f"this is {'a Parquet' if style == 'Parquet' else 'an Arrow'} file, "
            "which needs pyarrow to be read",
            where=str(path),
            remedy="pip install 'regard[data]', or write it as JSON lines",
        ) from None
    try:
        if style == "Parquet":
            with parquet.ParquetFile(path) as file:
                groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
                unpacked = sum(group.total_byte_size for group in groups)
                if unpacked > FREE + MOST_UNPACKED * path.stat().st_size:
                    raise too_much(path)
                yield file
        else:
            start = 8 if style == "Arrow file" else 0  # a file is a stream between two marks
            refuse_bombs(path, start)
            # Not mapped: a file that is cut while it is read would end the process.
            with pyarrow.OSFile(str(path)) as whole:
                whole.seek(start)
                yield ipc.open_stream(whole)
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, struct.error) as fault:
        if isinstance(fault, DataError):
            raise
        first_line = str(fault).split("\n")[0]
        raise DataError(
            f"the {style} data is damaged: {first_line}",
            where=str(path),
            remedy="fetch the file again, or write it anew",
        ) from None


def _class_names(path: Path, style: Style, column: str) -> tuple[str, ...]:
    """What the numbers of a label column mean: said in the file itself, or in the folder's description."""
    with _opened(path, style) as file:
        schema = file.schema_arrow if style == "Parquet" else file.schema
        noted = (schema.metadata or {}).get(b"huggingface", b"")
    features = _features(noted, "info")
    beside = path.parent / INFORMATION
    if not features and beside.is_file() and beside.stat().st_size <= LARGEST_INFORMATION:
        features = _features(beside.read_bytes())
    feature: Any = features.get(column)
    for _ in range(3):  # a list of labels has them one or two levels down
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
            names = feature.get("names")
            return tuple(map(str, names)) if isinstance(names, list) else ()
        if isinstance(feature, dict):
            feature = feature.get("feature")
        elif isinstance(feature, list) and feature:
            feature = feature[0]
    return ()


def _features(text: bytes, *keys: str) -> Mapping[str, Any]:
    try:
        tree = json.loads(text or b"{}")
    except (ValueError, RecursionError):
        return {}
    for key in (*keys, "features"):
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree if isinstance(tree, dict) else {}


def _named(value: Any, names: Sequence[str]) -> Any:
    """The names of classes in place of their numbers; a number without a name means: not known."""
    if isinstance(value, list):
        return [_named(one, names) for one in value]
    if isinstance(value, int):
        return names[value] if 0 <= value < len(names) else None
    return value


# What the messages of an Arrow stream would unpack to, read from their headers before pyarrow unpacks them.
# A message is a mark, a length, that many bytes of flatbuffer, and a body. A batch of rows lists the
# buffers of its body; where they are compressed, each begins with the number of bytes that it unpacks to. A
# file is a stream that stands between two marks, with an index behind it.

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
