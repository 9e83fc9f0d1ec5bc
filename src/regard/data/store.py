"""Named columns of ragged rows, read through memory maps: a corpus need not fit into memory.

The one idea: a JSON header names the columns with their sizes and hashes, and it is written last,
into a folder that gets its name when all in it is durable. So a killed build leaves nothing that
looks finished, only a `.tmp-<pid>-...` folder, which the sweep of a run's start removes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal, TypeAlias, final

import numpy as np
from jaxtyping import Int
from pydantic import ConfigDict, Field

from regard.config import Settings, parse
from regard.data.columns import (
    ColumnKind,
    ColumnRecord,
    ColumnWriter,
    FileRecord,
    Frames,
    Ids,
    Part,
    Pixels,
    Ragged,
    disk_errors,
    part_path,
    sample_hash,
    whole_hash,
)
from regard.errors import DataError, DiskError, ModelFileError, UsageError
from regard.strict_json import loads

__all__ = ["ColumnKind", "Frames", "Ids", "Pixels", "Ragged", "Store", "write"]

Indices: TypeAlias = Int[np.ndarray, " rows"] | Sequence[int]

HEADER, LARGEST_HEADER = "header.json", 2**16
FORMAT: Literal["regard store"] = "regard store"
VERSION: Literal[1] = 1
EVERY = 1024  # rows between two calls of `progress`
_REMEDY = "delete this folder: it is built again from your files"


@final
class Header(Settings):
    """What `header.json` says."""

    model_config = ConfigDict(strict=True)

    format: Literal["regard store"]
    version: Literal[1]
    rows: int = Field(ge=0, le=2**40)
    columns: list[ColumnRecord] = Field(min_length=1, max_length=64)


def write(
    folder: Path,
    rows: Iterable[Mapping[str, np.ndarray] | Mapping[str, Ragged]],
    columns: Mapping[str, ColumnKind],
    progress: Callable[[int], None] | None = None,
) -> Store:
    """Build a store from rows as they come, one or many at a time, in constant memory.

    `progress` hears now and then how many rows there are; what it raises ends the build cleanly.
    """
    with _new_folder(folder) as unfinished, ExitStack() as opened:
        writers = {name: ColumnWriter(unfinished, name, kind) for name, kind in columns.items()}
        for writer in writers.values():
            opened.callback(writer.abandon)
            writer.open()
        count = 0
        for row in rows:
            before, count = count, count + _add(row, writers, count)
            if progress is not None and count // EVERY > before // EVERY:
                progress(count)
        if progress is not None:
            progress(count)
        records = [writer.finish() for writer in writers.values()]
        header = Header(format=FORMAT, version=VERSION, rows=count, columns=records)
        with disk_errors(unfinished), (unfinished / HEADER).open("x", encoding="utf-8") as file:
            file.write(header.model_dump_json(indent=1) + "\n")
            file.flush()
            os.fsync(file.fileno())
    return Store.open(folder)


def _add(
    row: Mapping[str, np.ndarray] | Mapping[str, Ragged],
    writers: Mapping[str, ColumnWriter],
    number: int,
) -> int:
    """Write a row, or as many as its columns hold; how many these are. `number` is for errors."""
    if row.keys() != writers.keys():
        wanted, stored = ", ".join(writers), ", ".join(row)
        remedy = "give every row the same columns"
        raise DataError(f"the columns are {wanted}, not {stored}", f"row {number}", remedy)
    added = {writer.add(row[name]) for name, writer in writers.items()}
    if len(added) > 1:
        remedy = "give every column one value for each row"
        raise DataError("the columns have not as many rows", f"row {number}", remedy)
    return added.pop()


@final
class Store:
    """Rows of named columns; nothing is read before it is asked for."""

    def __init__(self, folder: Path, header: Header, fingerprint: str) -> None:
        """Map the files that `header` names; `open` is the way in."""
        self.folder, self.fingerprint = folder, fingerprint
        self._header = header
        self._columns = {one.name: _Column(folder, one, header.rows) for one in header.columns}
        self._times = {path: path.stat().st_mtime_ns for path, *_ in self._files()}

    @classmethod
    def open(cls, folder: Path) -> Store:
        """The store in a folder, after its header and the sizes of its files were checked."""
        try:
            with (folder / HEADER).open("rb") as file:
                text = file.read(LARGEST_HEADER + 1)
            return cls(folder, _parse(text, str(folder / HEADER)), hashlib.sha256(text).hexdigest())
        except FileNotFoundError as fault:
            raise DataError("there is no prepared data", str(fault.filename), _REMEDY) from None
        except DiskError:
            raise
        except OSError as fault:
            what = f"cannot read the prepared data: {fault.strerror or fault}"
            raise DiskError(
                what,
                where=str(fault.filename or folder),
                remedy="look at the disk and its permissions; removing the run's data/ prepares it anew",
            ) from fault

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return self._header.rows

    def row(self, index: int) -> dict[str, np.ndarray]:
        """One row: ids as int32, frames as (steps, width) of float32, pixels of uint8."""
        return {name: values[0] for name, values in self.rows([index]).items()}

    def rows(self, indices: Indices) -> dict[str, list[np.ndarray]]:
        """Some rows, column by column."""
        at = self._checked(indices)
        return {name: column.rows(at) for name, column in self._columns.items()}

    def joined(self, indices: Indices) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Some rows end to end, column by column: their values, and the length of each."""
        at = self._checked(indices)
        return {name: column.joined(at) for name, column in self._columns.items()}

    def padded(self, column: str, indices: Indices, length: int, fill: int = 0) -> np.ndarray:
        """Rows of one column as one array, each filled up to `length`; ids as int64."""
        return self._columns[column].padded(self._checked(indices), length, fill)

    def lengths(self, column: str) -> Int[np.ndarray, " corpus"]:
        """How many steps each row has: a view of the file, not a copy."""
        return self._columns[column].lengths

    def verify(self, whole: bool = False) -> None:
        """Are the files still what was written (T16)? Looks at a few blocks of each, or the `whole`.

        A file touched since it was opened is always read as a whole.
        """
        for path, record, size in self._files():
            try:
                about = path.stat()
                if whole or about.st_mtime_ns != self._times[path]:
                    same = about.st_size == size and whole_hash(path) == record.sha256
                else:
                    same = about.st_size == size and sample_hash(path) == record.sample
            except FileNotFoundError:
                same = False
            if not same:
                raise DataError(f"{path.name} is not what was written", str(path), _REMEDY)

    def _files(self) -> Iterator[tuple[Path, FileRecord, int]]:
        for column in self._header.columns:
            for part, record in column.files.items():
                path = part_path(self.folder, column.name, part)
                yield path, record, column.size(part, len(self))

    def _checked(self, indices: Indices) -> Int[np.ndarray, " rows"]:
        at = np.asarray(indices, np.int64)
        if at.size and not 0 <= int(at.min()) <= int(at.max()) < len(self):
            raise IndexError(f"a row lies outside range({len(self)})")
        return at


@final
class _Column:
    """One column's three maps."""

    def __init__(self, folder: Path, record: ColumnRecord, rows: int) -> None:
        self._path = part_path(folder, record.name, "values")
        self._shares = record.stored == "uint8"
        self._values = _mapped(folder, record, "values", rows)
        self._offsets = _mapped(folder, record, "offsets", rows)
        self.lengths = _mapped(folder, record, "lengths", rows)

    def rows(self, at: Int[np.ndarray, " rows"]) -> list[np.ndarray]:
        values, lengths = self.joined(at)
        values = values if values.ndim == 2 else values.astype(np.int32)
        ends = lengths.cumsum().tolist()
        return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def padded(self, at: Int[np.ndarray, " rows"], length: int, fill: int) -> np.ndarray:
        values, lengths = self.joined(at)
        longest = int(lengths.max(initial=0))
        if longest > length:
            raise ValueError(f"a row of {longest} steps does not fit into {length}")
        kind = values.dtype if values.ndim == 2 else np.int64
        result = np.full((len(at), length, *values.shape[1:]), fill, kind)
        result[np.arange(length) < lengths[:, None]] = values
        return result

    def joined(self, at: Int[np.ndarray, " rows"]) -> tuple[np.ndarray, np.ndarray]:
        """The values of all these rows end to end, and each row's length."""
        starts = self._offsets[at]
        # A row of pixels may begin where another does; all others lie end to end.
        stops = starts + self.lengths[at] if self._shares else self._offsets[at + 1]
        lengths = stops - starts
        if at.size and (starts.min() < 0 or lengths.min() < 0 or stops.max() > len(self._values)):
            raise DataError(f"{self._path.name} is not what was written", str(self._path), _REMEDY)
        before = lengths.cumsum() - lengths
        places = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
        return self._values.take(places, axis=0), lengths


def _mapped(folder: Path, record: ColumnRecord, part: Part, rows: int) -> np.ndarray:
    path, size = part_path(folder, record.name, part), record.size(part, rows)
    kind, shape = record.layout(part, rows)
    stored = path.stat().st_size
    if stored != size:
        raise DataError(f"{path.name} has {stored:,} bytes, not {size:,}", str(path), _REMEDY)
    if not size:  # an empty file cannot be mapped
        return np.empty(shape, kind)
    # A plain view: slices of numpy's own memmap class cost several times as much.
    return np.asarray(np.memmap(path, kind, "r", shape=shape))


def _parse(text: bytes, where: str) -> Header:
    try:
        tree = loads(text, max_bytes=LARGEST_HEADER, max_depth=8, where=where)
        tree = tree if isinstance(tree, dict) else {}
        if tree.get("format") == FORMAT and tree.get("version") != VERSION:
            what = f"this data has format {tree.get('version')}; this regard reads {VERSION}"
            raise DataError(what, where, _REMEDY)
        header = parse(Header, tree, where)
    except (ModelFileError, UsageError) as fault:
        raise DataError(f"this is not prepared data: {fault.what}", where, _REMEDY) from None
    if len({column.name for column in header.columns}) < len(header.columns):
        raise DataError("this is not prepared data: a column is named twice", where, _REMEDY)
    return header


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill, which gets its name when it is complete or goes away."""
    if folder.exists():
        raise UsageError(f"{folder} is there already", where=str(folder), remedy=_REMEDY)
    unfinished = folder.parent / f".tmp-{os.getpid()}-{folder.name}"
    try:
        with disk_errors(unfinished):
            # An earlier process may have had our number: in a container it is often 1.
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
        yield unfinished
        with disk_errors(folder):
            _make_durable(unfinished)
            unfinished.rename(folder)
            _make_durable(folder.parent)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _make_durable(folder: Path) -> None:
    if sys.platform == "win32":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
