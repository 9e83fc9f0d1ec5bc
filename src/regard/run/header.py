"""The header of a safetensors file, checked to the last byte before anything in it is believed.

A header is a length (eight bytes, little-endian) and a JSON object that gives each tensor its kind of number,
its shape and its place among the bytes that follow. Places must fill those bytes exactly: no hole, no
overlap, nothing after the end. Nothing here knows torch, so that a file can be judged before torch is loaded.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

from regard import strict_json
from regard.errors import ModelFileError

VERSION = 1
CHECKSUM = "crc32"  # the note that holds the checksum of all else in the file
LONGEST = 1 << 19  # bytes: some five thousand tensors; the worst such header is refused in 0.1 s
PREFIX = 8
ITEM_BYTES = {
    **dict.fromkeys(("BOOL", "U8", "I8"), 1),
    **dict.fromkeys(("F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2", "F8_E5M2FNUZ", "F8_E8M0"), 1),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 2),
    **dict.fromkeys(("U32", "I32", "F32"), 4),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 8),
}
_MOST_AXES = 64
_MOST_BYTES = 2**63 - 1
_KEYS = {"dtype", "shape", "data_offsets"}
_AGAIN = "the file is damaged or incomplete: copy or save it again"

_PICKLE = re.compile(rb"\x80[\x02-\x05]|[(\]}]|c[A-Za-z_][\w.]*\n[A-Za-z_]\w*\n")
_PICKLE_NAMES = (".pt", ".pth", ".bin", ".pkl", ".pickle", ".joblib", ".ckpt")
_COMPRESSED = re.compile(
    rb"\x1f\x8b|BZh|\xfd7zXZ\0|\x78[\x01\x5e\x9c\xda]|\x04\x22\x4d\x18|\x28\xb5\x2f\xfd|\x5d\0\0|ZF"
)
_OTHERS = {
    b"GGUF": "a GGUF file",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array",
    b"PK\x03\x04": "a zip archive",
    b"version https://git-lfs": "a Git LFS pointer, not the file it stands for",
}


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """One tensor's kind of number, shape and place."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@final
@dataclass(frozen=True)
class Header:
    """What a file says it holds: tensors in the order of their bytes, further names for some, and notes."""

    entries: tuple[Entry, ...]
    metadata: Mapping[str, str] = field(default_factory=dict)
    tied: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes that all tensors take."""
        return self.entries[-1].end if self.entries else 0


def measure(prefix: bytes, file_size: int, where: str) -> int:
    """The header's length from the first bytes of a file, or a sentence on what the file is instead."""
    length = int.from_bytes(prefix[:PREFIX], "little")
    if file_size == 0:
        raise ModelFileError("the weights file is empty", where, _AGAIN)
    if len(prefix) <= PREFIX or not 2 <= length <= LONGEST or prefix[PREFIX : PREFIX + 1] != b"{":
        _refuse_foreign(prefix, where)
    if len(prefix) < PREFIX or length > file_size - PREFIX:
        raise ModelFileError(
            f"the weights file ends inside its header, at {file_size:,} bytes", where, _AGAIN
        )
    if not 2 <= length <= LONGEST:
        raise ModelFileError(
            f"the weights file claims a header of {length:,} bytes; 2 to {LONGEST:,} are possible",
            where,
            _AGAIN,
        )
    return length


def parse(text: bytes, data_size: int, where: str) -> Header:
    """The checked header of a file that has `data_size` bytes after it."""
    table = _json_object(text, "the header", where)
    metadata = _metadata(table.pop("__metadata__", {}), where)
    entries = [_entry(name, item, where) for name, item in table.items()]
    entries.sort(key=lambda entry: (entry.begin, entry.end))
    position = 0
    for entry in entries:
        if entry.begin != position:
            problem = "overlaps the tensor" if entry.begin < position else "leaves a hole"
            raise _fault(entry.name, f"{problem} before it", where)
        position = entry.end
        if position > data_size:
            raise _fault(entry.name, "reaches past the end of the file", where)
    if position != data_size:
        raise ModelFileError(
            f"{data_size - position:,} bytes at the end belong to no tensor", where, _AGAIN
        )
    return Header(tuple(entries), metadata, _tied(metadata, table, where))


def compose(entries: Iterable[Entry], metadata: Mapping[str, str]) -> bytes:
    """The header's bytes: the same for the same content, and as long as keeps the numbers aligned."""
    table: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))}
    for entry in entries:
        table[entry.name] = {
            "dtype": entry.dtype,
            "shape": list(entry.shape),
            "data_offsets": [entry.begin, entry.end],
        }
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-len(text) % PREFIX)
    return len(text).to_bytes(PREFIX, "little") + text


def checksum(head: Header) -> int:
    """The CRC-32 of a header without its checksum, to be continued over the bytes of the tensors.

    It is for bits that flip on a disk, not for people who mean harm: they can write another checksum.
    """
    notes = {name: note for name, note in head.metadata.items() if name != CHECKSUM}
    return zlib.crc32(compose(head.entries, notes))


def shown(name: str) -> str:
    """A name from a file as a person may safely see it: short, and without control characters."""
    text = ascii(name)
    return text if len(text) <= 80 else f"{text[:70]}...'"


def _json_object(text: str | bytes, what: str, where: str) -> dict[str, Any]:
    table = strict_json.loads(text, max_bytes=LONGEST, max_depth=3, where=f"{where}, {what}")
    if not isinstance(table, dict):
        raise ModelFileError(f"{what} is not a JSON object", where, _AGAIN)
    return table


def _entry(name: str, item: object, where: str) -> Entry:
    if not name or not name.isprintable():
        raise _fault(name, "has a name that cannot be printed", where)
    if not isinstance(item, dict) or item.keys() != _KEYS:
        raise _fault(name, "must have exactly dtype, shape and data_offsets", where)
    dtype, shape, place = item["dtype"], item["shape"], item["data_offsets"]
    size = ITEM_BYTES.get(dtype) if isinstance(dtype, str) else None
    if size is None:
        raise _fault(name, f"has an unknown dtype {shown(str(dtype))}", where)
    if not _counts(shape) or len(shape) > _MOST_AXES:
        raise _fault(name, "has a shape that is not a list of integers from 0", where)
    if not _counts(place) or len(place) != 2 or place[0] > place[1]:
        raise _fault(name, "has data_offsets that are not a begin and an end", where)
    # Axes of length 0 count as 1 here: torch multiplies the others into strides all the same.
    if math.prod(axis or 1 for axis in shape) * size > _MOST_BYTES:
        raise _fault(name, "has a shape whose size overflows", where)
    needed, given = math.prod(shape) * size, place[1] - place[0]
    if needed != given:
        raise _fault(name, f"needs {needed:,} bytes by its shape but has {given:,}", where)
    return Entry(name, dtype, tuple(shape), place[0], place[1])


def _counts(items: object) -> bool:
    return isinstance(items, list) and all(type(item) is int and item >= 0 for item in items)


def _metadata(metadata: object, where: str) -> dict[str, str]:
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str) for value in metadata.values()
    ):
        raise ModelFileError("the metadata must map words to words", where, _AGAIN)
    version = metadata.get("regard", str(VERSION))
    if version != str(VERSION):
        raise ModelFileError(
            f"the weights are in format {shown(version)}; this regard reads format '{VERSION}'",
            where,
            "install a newer regard",
        )
    return metadata


def _tied(metadata: Mapping[str, str], table: Mapping[str, object], where: str) -> dict[str, str]:
    """Second names of tensors, kept as one JSON object among the notes of files that we wrote."""
    if "regard" not in metadata or "tied" not in metadata:
        return {}
    tied = _json_object(metadata["tied"], "the list of tied tensors", where)
    for alias, name in tied.items():
        if not isinstance(name, str) or name not in table:
            raise _fault(alias, "is tied to a tensor that is not there", where)
        if not alias or not alias.isprintable() or alias in table:
            raise _fault(alias, "is tied and stored at once, or cannot be printed", where)
    return tied


def _fault(name: str, problem: str, where: str) -> ModelFileError:
    return ModelFileError(f"tensor {shown(name)} {problem}", where, _AGAIN)


def _refuse_foreign(prefix: bytes, where: str) -> None:
    """Say what a file is, when it is something else that people keep models in."""
    packed = prefix.startswith(b"PK\x03\x04") and b"data.pkl" in prefix
    if packed or _PICKLE.match(prefix) or where.lower().endswith(_PICKLE_NAMES):
        raise ModelFileError(
            "this is a Python pickle, and loading a pickle can run any program hidden in it",
            where,
            "regard opens only safetensors: convert the file where you trust its maker",
        )
    if _COMPRESSED.match(prefix):
        raise ModelFileError(
            "this is a compressed file, perhaps a pickle packed by joblib, not safetensors",
            where,
            "unpack it first, and give the .safetensors file that is in it",
        )
    for magic, kind in _OTHERS.items():
        if prefix.startswith(magic):
            raise ModelFileError(
                f"this is {kind}, not safetensors", where, "give a .safetensors file"
            )
