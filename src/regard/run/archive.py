"""A run as one zip file, for sharing: a fixed list of plain files, uncompressed, in one possible form.

Because there is only one way to write a given run, reading is comparing: the files' own headers are walked
from the first byte, the list of contents that must follow is worked out from them, and an archive with
anything else in it (a path, a link, a second meaning, compression, hidden bytes) is refused as a whole.
Any zip tool can open what `pack` writes.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import final

from regard.errors import ModelFileError, UsageError
from regard.run import files, system
from regard.run.header import shown

NAMES = (
    "README.md",
    "config.toml",
    "metrics.jsonl",
    "model.safetensors",
    "samples.jsonl",
    "tokenizer.json",
)
_REQUIRED = ("config.toml", "model.safetensors", "tokenizer.json")

# Signature, version, flags, method, time, date, crc, sizes, lengths.
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q4sIQI")  # the large end record and the pointer to it
_LOCAL_MARK, _CENTRAL_MARK, _END_MARK = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_VERSION = 45  # the one that knows large files
_DATE = 0x21  # 1 January 1980, the format's first day
_PLAIN_FILE = 0o100644 << 16
_UNIX = 3 << 8 | _VERSION
_LARGE = 0xFFFFFFFF
_UNPACK = "unzip it yourself, look at what came out, and give that folder"


@final
@dataclass(frozen=True)
class _Member:
    """One file in the archive: where its header begins, how long it is, and its checksum."""

    name: str
    offset: int
    size: int
    crc: int

    @property
    def large(self) -> bool:
        """Whether a number does not fit into 32 bits."""
        return max(self.offset, self.size) >= _LARGE

    @property
    def start(self) -> int:
        """Where the file's own bytes begin."""
        return self.offset + len(self.local())

    @property
    def end(self) -> int:
        """Where the next file may begin."""
        return self.start + self.size

    def local(self) -> bytes:
        """The header before the file."""
        extra = struct.pack("<2H2Q", 1, 16, self.size, self.size) if self.large else b""
        size = _LARGE if self.large else self.size
        name = self.name.encode()
        numbers = (_VERSION, 0, 0, 0, _DATE, self.crc, size, size, len(name), len(extra))
        return _LOCAL.pack(_LOCAL_MARK, *numbers) + name + extra

    def central(self) -> bytes:
        """The entry in the list of contents."""
        extra = b""
        size, offset = self.size, self.offset
        if self.large:
            extra = struct.pack("<2H3Q", 1, 24, self.size, self.size, self.offset)
            size = offset = _LARGE
        name = self.name.encode()
        numbers = (_UNIX, _VERSION, 0, 0, 0, _DATE, self.crc, size, size, len(name), len(extra))
        return _CENTRAL.pack(_CENTRAL_MARK, *numbers, 0, 0, 0, _PLAIN_FILE, offset) + name + extra


def pack(folder: Path, archive: Path) -> list[str]:
    """Write the files of a run into one archive, the same bytes for the same files; say which."""
    missing = [name for name in _REQUIRED if not (folder / name).is_file()]
    if missing:
        raise UsageError(
            f"there is no {' and no '.join(missing)} here",
            str(folder),
            remedy="name a run folder that `regard train` made, with a model in it",
        )
    with contextlib.ExitStack() as stack, system.disk_errors("read", folder):
        # Each file is opened once: one replaced meanwhile goes in as it was.
        sources = {
            name: stack.enter_context((folder / name).open("rb", buffering=0))
            for name in NAMES
            if (folder / name).is_file()
        }
        members, offset = [], 0
        for name, file in sources.items():
            size, crc = 0, 0
            for piece in _read(file, os.fstat(file.fileno()).st_size):
                size, crc = size + len(piece), zlib.crc32(piece, crc)
            members.append(_Member(name, offset, size, crc))
            offset = members[-1].end
        files.write_atomic(archive, _pieces(members, sources), offset + len(_directory(members)))
    return list(sources)


def unpack(archive: Path, folder: Path) -> list[str]:
    """Check an archive as a whole, then write its files into a new folder; say which."""
    if folder.exists():
        raise UsageError(f"{folder.name} is there already", str(folder), "choose a new folder")
    with system.opened(archive, "archive") as file:
        members = _members(file, str(archive))
        with files.new_folder(folder, folder.name) as temporary:
            for member in members:
                file.seek(member.start)
                pieces = _verified(file, member, str(archive))
                files.write_new(temporary / member.name, pieces, member.size)
    return [member.name for member in members]


def _pieces(members: list[_Member], sources: dict[str, FileIO]) -> Iterator[bytes]:
    for member in members:
        yield member.local()
        sources[member.name].seek(0)
        yield from _verified(sources[member.name], member, str(sources[member.name].name))
    yield _directory(members)


def _directory(members: list[_Member]) -> bytes:
    """The list of contents and the record that ends an archive."""
    text = b"".join(member.central() for member in members)
    count, offset = len(members), members[-1].end
    end = _END.pack(_END_MARK, 0, 0, count, count, len(text), min(offset, _LARGE), 0)
    if offset < _LARGE:
        return text + end
    large = (b"PK\6\6", 44, _UNIX, _VERSION, 0, 0, count, count, len(text), offset)
    return text + _END64.pack(*large, b"PK\6\7", 0, offset + len(text), 1) + end


def _members(file: FileIO, where: str) -> list[_Member]:
    """All members of an archive, none of which is believed before all of it is."""
    size = os.fstat(file.fileno()).st_size
    members: list[_Member] = []
    position = 0
    while (member := _member(file, position, where)) is not None:
        if members and NAMES.index(member.name) <= NAMES.index(members[-1].name):
            raise ModelFileError(
                f"{shown(member.name)} is in the archive twice or out of order", where, _UNPACK
            )
        position = member.end
        if position > size:
            raise ModelFileError(
                f"the archive ends inside {shown(member.name)}",
                where,
                remedy="fetch the archive again: it is cut short",
            )
        members.append(member)
    if not members:
        raise ModelFileError(
            "this is not an archive of a run",
            where,
            remedy="name an archive of a run: regard.Run.pack writes one",
        )
    directory = _directory(members)
    file.seek(position)
    if size - position != len(directory) or file.read(len(directory)) != directory:
        raise ModelFileError(
            "the archive's list of contents differs from its files (a link, hidden bytes, or another tool)",
            where,
            _UNPACK,
        )
    lacking = [name for name in _REQUIRED if name not in {member.name for member in members}]
    if lacking:
        raise ModelFileError(
            f"the archive has no {' and no '.join(lacking)}",
            where,
            remedy="pack the run again, whole",
        )
    return members


def _member(file: FileIO, position: int, where: str) -> _Member | None:
    """The member whose header is at `position`; None where the files end."""
    file.seek(position)
    fixed = file.read(_LOCAL.size)
    if len(fixed) < _LOCAL.size or not fixed.startswith(_LOCAL_MARK):
        return None
    _mark, _version, flags, method, _time, _date, crc, packed, size, name_length, extra_length = (
        _LOCAL.unpack(fixed)
    )
    rest = file.read(name_length + extra_length)
    name = rest[:name_length].decode("utf-8", "replace")
    if name not in NAMES:
        raise ModelFileError(f"{shown(name)} is not a file of a run", where, _UNPACK)
    if method or flags:
        raise ModelFileError(f"{shown(name)} is compressed or encrypted", where, _UNPACK)
    if size == _LARGE and extra_length == 20:
        size = packed = struct.unpack("<Q", rest[name_length + 4 : name_length + 12])[0]
    member = _Member(name, position, size, crc)
    if packed != size or fixed + rest != member.local():
        raise ModelFileError(
            f"the header of {shown(name)} is not one regard writes", where, _UNPACK
        )
    return member


def _verified(file: FileIO, member: _Member, where: str) -> Iterator[bytes]:
    """The bytes of a member as they are read; wrong ones are noticed at the end."""
    crc = 0
    for piece in _read(file, member.size):
        crc = zlib.crc32(piece, crc)
        yield piece
    if crc != member.crc:
        raise ModelFileError(
            f"{shown(member.name)} is damaged, or changed while it was read",
            where,
            remedy="fetch the archive again",
        )


def _read(file: FileIO, size: int) -> Iterator[bytes]:
    while size and (piece := file.read(min(size, files.CHUNK))):
        size -= len(piece)
        yield piece
