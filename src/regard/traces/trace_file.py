"""A trace as one file: an .npz whose first entry is a JSON header, read strictly or not at all.

The one idea: the header alone says which arrays there are and how large each is. So everything is
checked before memory is taken, and a file that is not what we would write is refused (docs/trace-format.md).
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import ModelFileError, UsageError
from regard.run import files, system
from regard.traces.trace_header import MOST_BYTES as MOST_HEADER
from regard.traces.trace_header import Document, parse, refuse

HEADER = "header"
MOST_BYTES = 1 << 32
_DATE = (1980, 1, 1, 0, 0, 0)  # equal traces give equal files
_PREAMBLE = 4096  # an array's own header is far shorter
# What unpacks to more than so many times its size was made to hurt; small things may.
_MOST_UNPACKED, _FREE_HEADER, _FREE = 32, 1 << 16, 1 << 22
_SIZES = ("compress_size", "file_size")
_ARRAY = re.compile(
    rb"{'descr': '([<>|]\w{1,9})', 'fortran_order': (False|True), 'shape': \(([0-9, ]{0,99})\), } *\n"
)
_DAMAGE = (zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError, RuntimeError)


def write(path: Path, content: bytes) -> None:
    """Replace the file as a whole."""
    files.write_atomic(path, content)


def packed(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of the file."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        head = np.frombuffer(text.encode(), np.uint8)
    except UnicodeEncodeError:
        raise UsageError(
            "half a character cannot be saved",
            where="text",
            remedy="give text without lone surrogates",
        ) from None
    whole = {HEADER: head, **arrays}
    buffer, entries = _zipped(whole, zipfile.ZIP_DEFLATED)
    if not _honest(*entries):  # one value again and again: a reader would take it for a trap
        buffer, _ = _zipped(whole, zipfile.ZIP_STORED)
    return buffer.getvalue()


def _zipped(
    arrays: Mapping[str, np.ndarray], method: int
) -> tuple[io.BytesIO, list[zipfile.ZipInfo]]:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", _DATE)
            entry.compress_type = method
            with archive.open(entry, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)
    return buffer, archive.infolist()


def _honest(head: zipfile.ZipInfo, *arrays: zipfile.ZipInfo) -> bool:
    """Whether nothing unpacks to far more than it is: text gives 5 to 10 times its size."""
    packed, unpacked = (sum(getattr(entry, name) for entry in arrays) for name in _SIZES)
    return (
        head.file_size <= _MOST_UNPACKED * head.compress_size + _FREE_HEADER
        and unpacked <= 2 * _MOST_UNPACKED * packed + _FREE
    )


def read(path: Path) -> tuple[Document, list[dict[str, np.ndarray]]]:
    """The header and each site's arrays, or a `ModelFileError` that says what is wrong with the file."""
    where = str(path)
    with system.opened(path, "trace") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                if sum(entry.compress_size for entry in archive.infolist()) > _size(stream):
                    refuse("this trace is damaged: its parts overlap", where)
                return _read(archive, where)
        except ModelFileError:
            raise
        except OSError as fault:
            if fault.errno != errno.EINVAL:
                raise
            refuse("this trace is damaged: it points outside itself", where)
        except _DAMAGE as fault:
            refuse(f"this trace is damaged: {str(fault)[:200]}", where)


def _size(stream: io.FileIO) -> int:
    return os.fstat(stream.fileno()).st_size


def _read(archive: zipfile.ZipFile, where: str) -> tuple[Document, list[dict[str, np.ndarray]]]:
    entries = {entry.filename: entry for entry in archive.infolist()}
    if len(entries) < len(archive.infolist()):
        refuse("two entries of this trace have one name", where)
    first = entries.pop(f"{HEADER}.npy", None)
    if first is None:
        refuse("this is no trace: it has no header", where)
    if first.file_size > MOST_HEADER:
        refuse(f"the header of this trace has {first.file_size:,} bytes", where)
    if not _honest(first, *entries.values()):
        refuse("this trace unpacks to far more than it is", where)
    head = _array(archive, first, np.dtype(np.uint8), (None,), where)
    document = parse(head.tobytes(), where)
    expected = {
        f"{number}.{name}.npy": (number, name, shape)
        for number, site in enumerate(document.sites)
        for name, shape in site.sizes().items()
    }
    if set(expected) != set(entries):
        odd = sorted(set(expected) ^ set(entries))[0]
        refuse(f"the arrays of this trace are not those of its header: see {odd[:60]!r}", where)
    if sum(4 * math.prod(shape) for _, _, shape in expected.values()) > MOST_BYTES:
        refuse("this trace is too large", where)
    arrays: list[dict[str, np.ndarray]] = [{} for _ in document.sites]
    for entry_name, (number, name, shape) in expected.items():
        array = _array(archive, entries[entry_name], np.dtype("<f4"), shape, where)
        if not _sound(name, array):
            refuse(f"{entry_name} has numbers that are not finite", where)
        arrays[number][name] = array
    return document, arrays


def _array(
    archive: zipfile.ZipFile,
    entry: zipfile.ZipInfo,
    dtype: np.dtype[Any],
    shape: tuple[int | None, ...],
    where: str,
) -> np.ndarray:
    """One array, when it is of this type and shape and as long as it says; then memory is taken."""
    name = entry.filename
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        refuse(f"{name} is packed in a way that traces never are", where)
    with archive.open(entry) as stream:
        if np.lib.format.read_magic(stream) != (1, 0):
            refuse(f"{name} is of a version that is not read here", where)
        stored, fortran, kind = _described(
            stream.read(int.from_bytes(stream.read(2), "little")), name, where
        )
        fits = len(stored) == len(shape) and all(
            wanted in (None, own) for own, wanted in zip(stored, shape, strict=True)
        )
        expected = math.prod(stored) * dtype.itemsize
        room = entry.file_size - expected
        if fortran or kind != dtype.str or not fits or not 0 <= room <= _PREAMBLE:
            refuse(f"{name} is {kind} {stored}, where {dtype} {shape} belongs", where)
        # One more, so that the end is seen and its checksum tested.
        data = stream.read(expected + 1)
    if len(data) != expected:
        refuse(f"{name} has {len(data):,} bytes of {expected:,}", where)
    return np.frombuffer(data, dtype).reshape(stored)


def _described(head: bytes, name: str, where: str) -> tuple[tuple[int, ...], bool, str]:
    """Shape, order and type of an array, in the one form that NumPy writes them: nothing is evaluated."""
    header = _ARRAY.fullmatch(head)
    if header is None:
        refuse(f"the array header of {name[:60]!r} is not one that traces have", where)
    shape = tuple(int(axis) for axis in header[3].replace(b" ", b"").split(b",") if axis)
    return shape, header[2] == b"True", header[1].decode("ascii", "replace")


def _sound(name: str, array: np.ndarray) -> bool:
    """Scores are -inf where a query could not look; all else is finite."""
    fine = np.isfinite(array)
    return bool((fine | np.isneginf(array)).all() if name == "scores" else fine.all())
