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
PIECE = 512


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
        try:
            yield _decompressed(raw, compression, name_of(origin))
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as fault:
            raise DataError(
                f"the {compression} data is damaged or cut short",
                where=name_of(origin),
                remedy=f"copy the file again ({fault})",
            ) from None


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
    match compression:
        case "":
            return raw
        case "gzip":
            unpacked: Any = gzip.GzipFile(fileobj=raw)
        case "xz":
            unpacked = lzma.LZMAFile(raw)  # noqa: SIM115 - it closes with the file below it
        case "zstd":
            unpacked = _zstd(raw, name)
    return io.BufferedReader(unpacked, BLOCK)


def _zstd(raw: io.BufferedReader, name: str) -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.ZstdFile(raw)
    try:
        import zstandard
    except ImportError:
        raise DataError(
            "the file is compressed with zstd, which this Python cannot read by itself",
            where=name,
            remedy="pip install zstandard, or unpack it first: zstd -d FILE",
        ) from None
    return _ZstdFrames(raw, zstandard)


@final
class _ZstdFrames(io.RawIOBase):
    """Zstd frames one after another. The package's own reader takes a cut file for a whole one."""

    def __init__(self, raw: io.BufferedReader, package: Any) -> None:
        self.raw, self.package = raw, package
        self.frame: Any = None
        self.packed = memoryview(b"")
        self.ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self.ready:
            self.packed = self.packed or memoryview(self.raw.read(BLOCK))
            if not self.packed:
                if self.frame is not None:
                    raise EOFError("the last frame has no end")
                return 0
            self._advance()
        count = min(len(buffer), len(self.ready))
        buffer[:count] = self.ready[:count]
        self.ready = self.ready[count:]
        return count

    def _advance(self) -> None:
        """Unpack one piece; where a frame ends, what follows it begins the next."""
        if self.frame is None:
            self.frame = self.package.ZstdDecompressor().decompressobj()
        # A small piece at a time, because four bytes of zstd may unpack to 128 KiB.
        piece, self.packed = self.packed[:PIECE], self.packed[PIECE:]
        try:
            self.ready = memoryview(self.frame.decompress(piece))
        except self.package.ZstdError as fault:
            raise EOFError(str(fault)) from None
        if self.frame.eof:
            self.packed = memoryview(self.frame.unused_data + bytes(self.packed))
            self.frame = None
