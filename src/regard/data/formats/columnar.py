"""Parquet and Arrow files, as data sets are shared today; read by `pyarrow`, which is an extra."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, final

from regard.data.compressed import compression_of
from regard.data.example import Kind
from regard.data.formats.arrow import FREE, MOST_UNPACKED, refuse_bombs, too_much
from regard.data.formats.format import Format, Reading, Row
from regard.data.formats.record import Fields, fields_of
from regard.errors import DataError

Style = Literal["Parquet", "Arrow stream", "Arrow file"]
ROWS = 32  # at a time: one text may stand for all of them, and each becomes a copy
MOST_ROWS, FREE_ROWS = 2, 4096  # for a byte of the file, and for any file
INFORMATION = "dataset_info.json"
LARGEST_INFORMATION = 1 << 20


@final
@dataclass(frozen=True)
class Columnar(Format):
    """One file of columns. `names` are the classes that a column of numbers stands for, if it does."""

    path: Path
    style: Style
    fields: Fields
    names: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        return self.fields.of

    @property
    def paths(self) -> tuple[Path, ...]:
        return (self.path,)

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
        told = str(fault).split("\n")[0]
        raise DataError(
            f"the {style} data is damaged: {told}",
            where=str(path),
            remedy="fetch the file again, or write it anew",
        ) from None


def _class_names(path: Path, style: Style, column: str) -> tuple[str, ...]:
    """What the numbers of a label column mean: said in the file itself, or in the folder's description."""
    with _opened(path, style) as file:
        schema = file.schema_arrow if style == "Parquet" else file.schema
        said = (schema.metadata or {}).get(b"huggingface", b"")
    features = _features(said, "info")
    beside = path.parent / INFORMATION
    if not features and beside.is_file() and beside.stat().st_size <= LARGEST_INFORMATION:
        features = _features(beside.read_bytes())
    found: Any = features.get(column)
    for _ in range(3):  # a list of labels has them one or two levels down
        if isinstance(found, dict) and found.get("_type") == "ClassLabel":
            names = found.get("names")
            return tuple(map(str, names)) if isinstance(names, list) else ()
        if isinstance(found, dict):
            found = found.get("feature")
        elif isinstance(found, list) and found:
            found = found[0]
    return ()


def _features(text: bytes, *keys: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text or b"{}")
    except (ValueError, RecursionError):
        return {}
    for key in (*keys, "features"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _named(value: Any, names: Sequence[str]) -> Any:
    """The names of classes in place of their numbers; a number without a name means: not known."""
    if isinstance(value, list):
        return [_named(one, names) for one in value]
    if isinstance(value, int):
        return names[value] if 0 <= value < len(names) else None
    return value
