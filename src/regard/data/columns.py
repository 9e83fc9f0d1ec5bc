"""How a column of ragged rows lies on disk.

The one idea: all rows end to end (`values`), where each begins (`offsets`) and how long each is
(`lengths`): three plain files of little-endian numbers, which a memory map can read anywhere.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, final, get_args

import numpy as np
from pydantic import ConfigDict, Field

from regard.config import Settings
from regard.errors import DataError, DiskError, RegardError

Part = Literal["values", "offsets", "lengths"]

BLOCK, SAMPLES = 4096, 16
COPY = 1 << 20
WAITING = 1 << 16  # values held back until they are written together


@final
@dataclass(frozen=True)
class Ids:
    """Integers: tokens, tags, positions. A row is (steps,)."""


@final
@dataclass(frozen=True)
class Frames:
    """Vectors of one width: a row is (steps, width) of float32."""

    width: int


@final
@dataclass(frozen=True)
class Pixels:
    """Vectors of bytes: a row is (steps, width) of uint8. What is there already is not stored again."""

    width: int


ColumnKind: TypeAlias = Ids | Frames | Pixels
Stored: TypeAlias = Literal["uint8", "uint16", "int32", "float32"]


@final
@dataclass(frozen=True)
class Ragged:
    """Many rows of one column: their values end to end, and how many each has."""

    values: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[np.ndarray]) -> Ragged:
        """Rows put end to end."""
        lengths = np.array([len(row) for row in rows], np.int64)
        return cls(np.concatenate([row for row in rows if row.size] or rows[:1]), lengths)


class _Strict(Settings):
    model_config = ConfigDict(strict=True)


@final
class FileRecord(_Strict):
    """What a file was when it was written: all of it, and a few blocks of it for a quick look."""

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    sample: str = Field(pattern="^[0-9a-f]{64}$")


@final
class ColumnRecord(_Strict):
    """One column: how its numbers are stored, and how many steps all its rows have together."""

    name: str = Field(pattern="^[a-z][a-z0-9_]{0,31}$")
    stored: Stored
    width: int | None = Field(ge=1, le=2**20)  # of a frame; None for ids
    steps: int = Field(ge=0, le=2**48)
    files: dict[Part, FileRecord] = Field(min_length=3)

    def layout(self, part: Part, rows: int) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """The kind and the shape of what a file holds."""
        match part:
            case "values":
                shape = (self.steps,) if self.width is None else (self.steps, self.width)
                return np.dtype(self.stored).newbyteorder("<"), shape
            case "offsets":
                return np.dtype("<i8"), (rows + 1,)
            case "lengths":
                return np.dtype("<i4"), (rows,)

    def size(self, part: Part, rows: int) -> int:
        """The bytes of a file."""
        kind, shape = self.layout(part, rows)
        return kind.itemsize * math.prod(shape)


@final
class ColumnWriter:
    """Appends rows to one column in constant memory.

    Ids begin as 16 bits each; the first that needs more has the file rewritten with 32.
    """

    def __init__(self, folder: Path, name: str, kind: ColumnKind) -> None:
        self._folder, self._name, self._kind = folder, name, kind
        match kind:
            case Ids():
                self._stored: Stored = "uint16"
            case Frames():
                self._stored = "float32"
            case Pixels():
                self._stored = "uint8"
        self._seen: dict[bytes, int] = {}  # where a row of pixels begins that was stored before
        self._waiting: list[np.ndarray] = []
        self._held = self._rows = self._steps = 0
        self._sinks: dict[Part, _Sink] = {}

    def open(self) -> None:
        """Begin the files. Anyone who calls this also calls `abandon`, even after a fault in here."""
        for part in get_args(Part):
            self._sinks[part] = _Sink(part_path(self._folder, self._name, part))
        if not isinstance(self._kind, Pixels):
            self._sinks["offsets"].write(np.zeros(1, "<i8"))

    def add(self, rows: np.ndarray | Ragged) -> int:
        """Add one row, or many at once; how many there were."""
        if isinstance(rows, Ragged):
            self.extend(rows)
            return len(rows.lengths)
        self.append(rows)
        return 1

    def append(self, row: np.ndarray) -> None:
        """Add one row."""
        self._refuse_other(row)
        self._waiting.append(row.copy())  # the caller may use its array again
        self._held += row.size + 1
        if self._held >= WAITING:
            self.flush()

    def extend(self, rows: Ragged) -> None:
        """Add many rows at once."""
        self._refuse_other(rows.values)
        if len(rows.values) != int(rows.lengths.sum()):
            raise DataError(
                f"column '{self._name}' has {len(rows.values):,} values, "
                f"not the {int(rows.lengths.sum()):,} of its rows",
                where=f"row {self._rows + len(self._waiting)}",
                remedy="give as many values as the lengths of the rows add up to",
            )
        self.flush()
        self._write(rows)

    def flush(self) -> None:
        """Write what is waiting."""
        if self._waiting:
            self._write(Ragged.of(self._waiting))
        self._waiting, self._held = [], 0

    def _refuse_other(self, row: np.ndarray) -> None:
        width = None if isinstance(self._kind, Ids) else self._kind.width
        numbers = "iu" if width is None else "iuf"
        if isinstance(self._kind, Pixels) and row.dtype != np.uint8:
            numbers = ""
        right = row.ndim == 1 if width is None else row.ndim == 2 and row.shape[1] == width
        if not right or (row.size and row.dtype.kind not in numbers):
            wanted = "integers in a row" if width is None else f"frames of {width} numbers"
            wanted += " of 8 bits" if isinstance(self._kind, Pixels) else ""
            raise DataError(
                f"column '{self._name}' has {wanted}, not {row.dtype} of shape {row.shape}",
                where=f"row {self._rows + len(self._waiting)}",
                remedy="give every row of a column the same form",
            )

    def _write(self, rows: Ragged) -> None:
        values, lengths = rows.values, rows.lengths
        if isinstance(self._kind, Pixels):
            self._write_once(rows)
            return
        if isinstance(self._kind, Ids) and values.size:
            self._make_room(int(values.min()), int(values.max()))
        self._sinks["values"].write(values.astype(np.dtype(self._stored).newbyteorder("<")))
        self._sinks["lengths"].write(lengths.astype("<i4"))
        self._sinks["offsets"].write((self._steps + lengths.cumsum()).astype("<i8"))
        self._rows += len(lengths)
        self._steps += int(lengths.sum())

    def _write_once(self, rows: Ragged) -> None:
        """Pictures that are there already, as those with several captions are, are only pointed to."""
        begin, starts = 0, []
        for length in rows.lengths.tolist():
            picture = np.ascontiguousarray(rows.values[begin : begin + length])
            key = hashlib.blake2b(picture.tobytes(), digest_size=16).digest()
            start = self._seen.get(key)
            if start is None:
                start = self._seen[key] = self._steps
                self._sinks["values"].write(picture)
                self._steps += length
            starts.append(start)
            begin += length
        self._sinks["offsets"].write(np.array(starts, "<i8"))
        self._sinks["lengths"].write(rows.lengths.astype("<i4"))
        self._rows += len(rows.lengths)

    def finish(self) -> ColumnRecord:
        """Write the rest, make it durable, and say what was written."""
        self.flush()
        if isinstance(self._kind, Pixels):
            self._sinks["offsets"].write(np.array([self._steps], "<i8"))
        return ColumnRecord(
            name=self._name,
            stored=self._stored,
            width=None if isinstance(self._kind, Ids) else self._kind.width,
            steps=self._steps,
            files={part: sink.finish() for part, sink in self._sinks.items()},
        )

    def abandon(self) -> None:
        """Let go of the files, whatever is in them; once they are finished this does nothing."""
        for sink in self._sinks.values():
            with suppress(DiskError):
                sink.close()

    def _make_room(self, least: int, most: int) -> None:
        """See that these ids can be stored, with 32 bits if they need them."""
        if least < -(2**31) or most >= 2**31:
            raise DataError(
                f"column '{self._name}' has the id {most if most >= 2**31 else least}",
                where=f"rows from {self._rows} on",
                remedy="ids must fit into 32 bits",
            )
        if self._stored == "int32" or (least >= 0 and most < 2**16):
            return
        self._stored = "int32"
        narrow = self._sinks["values"]
        narrow.close()
        aside = narrow.path.with_suffix(".narrow")
        with disk_errors(aside):
            narrow.path.rename(aside)
        wide = self._sinks["values"] = _Sink(narrow.path)
        with disk_errors(aside), aside.open("rb") as file:
            while piece := file.read(COPY):
                wide.write(np.frombuffer(piece, "<u2").astype("<i4"))
            aside.unlink()


@final
class _Sink:
    """A file being written and hashed at once."""

    def __init__(self, path: Path) -> None:
        self.path, self._digest = path, hashlib.sha256()
        with disk_errors(path):
            self._file = path.open("wb")

    def write(self, array: np.ndarray) -> None:
        data = array.tobytes()
        self._digest.update(data)
        with disk_errors(self.path):
            self._file.write(data)

    def finish(self) -> FileRecord:
        with disk_errors(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            return FileRecord(sha256=self._digest.hexdigest(), sample=sample_hash(self.path))

    def close(self) -> None:
        with disk_errors(self.path):
            self._file.close()


def part_path(folder: Path, column: str, part: Part) -> Path:
    """Where a column keeps its values, offsets or lengths."""
    return folder / f"{column}.{part}.bin"


def whole_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sample_hash(path: Path) -> str:
    """SHA-256 of a few blocks spread over a file, its first and its last among them."""
    digest, last = hashlib.sha256(), max(0, path.stat().st_size - BLOCK)
    with path.open("rb") as file:
        for number in range(SAMPLES):
            file.seek(last * number // (SAMPLES - 1))
            digest.update(file.read(BLOCK))
    return digest.hexdigest()


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """What the system says of the disk, as an error with a remedy."""
    try:
        yield
    except RegardError:
        raise
    except OSError as fault:
        raise DiskError(
            f"cannot write the prepared data: {fault.strerror or fault}",
            where=str(path),
            remedy="free some space, or choose a folder you may write to; nothing else was changed",
        ) from fault
