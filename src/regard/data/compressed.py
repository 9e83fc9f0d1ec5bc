"""Bytes from plain, gzip, xz and zstd files, told apart by their first bytes and never by name."""

from __future__ import annotations

import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias, cast, final

from regard.errors import DataError, DiskError, missing

Stream: TypeAlias = BinaryIO | io.BufferedIOBase
Compression = Literal["", "gzip", "xz", "zstd"]
MAGIC: dict[bytes, Compression] = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
SUFFIXES = (".gz", ".xz", ".zst", ".zstd")
BLOCK = 1 << 16
# Text shrinks to a third or a twentieth; what unpacks to far more was made to hurt.
MOST_UNPACKED, FREE = 200, 1 << 20


@contextmanager
def opened(origin: Path | Stream) -> Iterator[io.BufferedReader]:
    """The uncompressed bytes of a file, or of a stream such as standard input (which stays open)."""
    with ExitStack() as stack:
        if isinstance(origin, Path):
            raw = stack.enter_context(_open(origin))
        elif isinstance(origin, io.BufferedReader):
            raw = origin
        else:
            raw = io.BufferedReader(cast(io.RawIOBase, origin))
            stack.callback(raw.detach)
        compression = _recognised(raw.peek(8)[:8])
        yield _decompressed(raw, compression, name_of(origin))


def compression_of(path: Path) -> Compression:
    """How a file is compressed; `""` for a plain one."""
    with _open(path) as raw:
        return _recognised(raw.peek(8)[:8])


def name_of(origin: Path | Stream) -> str:
    """The path as it was given, or what people call a stream."""
    return str(origin) if isinstance(origin, Path) else "standard input"


def bare_name(path: Path) -> str:
    """The name without the suffix of a compressor: `train.en` for `train.en.gz`."""
    return path.stem if path.suffix.lower() in SUFFIXES else path.name


def _open(path: Path) -> io.BufferedReader:
    try:
        return io.BufferedReader(io.FileIO(path), BLOCK)
    except FileNotFoundError:
        raise missing(path) from None
    except IsADirectoryError:
        raise DataError(
            "this is a folder, not a file", where=str(path), remedy="name a file in it"
        ) from None
    except OSError as fault:
        raise DiskError(
            f"the file cannot be read: {fault.strerror}",
            where=str(path),
            remedy="look at its permissions: ls -l",
        ) from None


def _recognised(head: bytes) -> Compression:
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), "")


def _decompressed(raw: io.BufferedReader, compression: Compression, name: str) -> io.BufferedReader:
    packed: Any = _Counted(raw)
    damage: tuple[type[Exception], ...] = (EOFError,)
    match compression:
        case "":
            return raw
        case "gzip":
            unpacked: Any = gzip.GzipFile(fileobj=packed)
            damage += (zlib.error, gzip.BadGzipFile)
        case "xz":
            unpacked = lzma.LZMAFile(packed)  # noqa: SIM115 - it closes with the file below it
            damage += (lzma.LZMAError,)
        case "zstd":
            zstd = _zstd(name)
            unpacked = zstd.ZstdFile(packed)
            damage += (zstd.ZstdError,)
    checked = _Unpacked(packed, unpacked, f"the {compression} data", name, damage)
    return io.BufferedReader(checked, BLOCK)


def _zstd(name: str) -> Any:
    """The module of Python 3.14, or the same one as a package."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise DataError(
            "the file is compressed with zstd, which this Python cannot read by itself",
            where=name,
            remedy="pip install backports.zstd, or unpack it first: zstd -d FILE",
        ) from None
    return zstd


@final
class _Counted:
    """A file below a decompressor, which counts the bytes that were taken from it."""

    def __init__(self, raw: io.BufferedReader) -> None:
        self.raw, self.count = raw, 0

    def read(self, size: int) -> bytes:
        """The next bytes."""
        found = self.raw.read(size)
        self.count += len(found)
        return found


@final
class _Unpacked(io.RawIOBase):
    """The bytes that a file unpacks to, as long as they are no more than text of its size could be."""

    def __init__(
        self,
        packed: _Counted,
        unpacked: Any,
        what: str,
        where: str,
        damage: tuple[type[Exception], ...],
    ) -> None:
        self.packed, self.unpacked, self.damage = packed, unpacked, damage
        self.what, self.where = what, where
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        try:
            found = self.unpacked.read1(len(buffer))
        except self.damage as fault:
            remedy = f"copy the file again ({fault})"
            raise DataError(f"{self.what} is damaged or cut short", self.where, remedy) from None
        self.count += len(found)
        if self.count > FREE + MOST_UNPACKED * self.packed.count:
            raise DataError(
                f"{self.what} unpacks to more than {MOST_UNPACKED} times its size, as no text does",
                self.where,
                remedy="unpack it yourself, if you trust it, and name what comes out",
            )
        buffer[: len(found)] = found
        return len(found)
