"""The one line reader: bytes, split at `\\n` only, one trailing `\\r` taken off, each line UTF-8.

Every file and tool of the project reads lines here, so that N lines mean N lines everywhere. A line
that cannot be used still comes out, with its fault: two files read side by side stay side by side,
and N lines in are N lines out. No line takes more memory than `LINE_BOUND`.
"""

from __future__ import annotations

import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias, cast, final

from regard.errors import DataError, DiskError, missing

LINE_BOUND = 64 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# What people bring that is not text, by its first bytes.
FOREIGN = {
    b"PK\x03\x04": "a zip archive (or an office document)",
    b"%PDF": "a PDF document",
    b"BZh": "a file compressed with bzip2",
    b"SQLite": "a database",
    b"\x93NUMPY": "a NumPy array",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"RIFF": "a sound or video file",
    b"ID3": "an MP3 sound file",
    b"fLaC": "a FLAC sound file",
    b"OggS": "an Ogg sound file",
    b"\x7fELF": "a program",
    b"MZ\x90": "a program",
    b"\x80\x04\x95": "a Python pickle",
    b"\x80\x05\x95": "a Python pickle",
}
_CONTROLS = frozenset({*range(9), *range(14, 27), *range(28, 32)})  # bytes that no text has

Fault = Literal["too long", "NUL byte", "not UTF-8"]
OnBadUtf8 = Literal["stop", "skip"]


class TextLine(NamedTuple):
    """One line, counted from 1. Where `fault` says why it cannot be used, `text` is empty."""

    number: int
    text: str
    fault: Fault | None = None


def read_lines(
    origin: Path | Stream,
    *,
    on_bad_utf8: OnBadUtf8 = "stop",
    notes: list[str] | None = None,
) -> Iterator[TextLine]:
    """The lines of a file or a binary stream, compressed or not; `notes` receives what was mended."""
    name = name_of(origin)
    with opened(origin) as stream:
        head = stream.peek(4096)[:4096]
        _refuse_wide_characters(head, name)
        for number, raw in enumerate(_raw_lines(stream), start=1):
            skipped = 0
            if number == 1 and raw.startswith(BYTE_ORDER_MARK):
                skipped = len(BYTE_ORDER_MARK)
                if notes is not None:
                    notes.append(f"{name}: the byte-order mark at its beginning was left out")
            content = raw[skipped:] if skipped else raw
            if len(content) > LINE_BOUND:
                yield TextLine(number, "", "too long")
            elif b"\0" in content:
                if on_bad_utf8 == "stop":
                    refuse_binary(head, name)
                yield TextLine(number, "", "NUL byte")
            else:
                try:
                    line = TextLine(number, content.decode("utf-8"))
                except UnicodeDecodeError as fault:
                    if on_bad_utf8 == "stop":
                        refuse_binary(head, name)
                        raise _not_utf8(fault, f"{name}:{number}", skipped) from None
                    line = TextLine(number, "", "not UTF-8")
                yield line


def count_lines(origin: Path | Stream) -> int:
    """How many lines `read_lines` gives, from the bytes alone."""
    count, last = 0, b"\n"
    with opened(origin) as stream:
        while block := stream.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    return count if last == b"\n" else count + 1


def refuse_binary(head: bytes, name: str) -> None:
    """Say what a file is that begins so and is not text."""
    strange = sum(byte in _CONTROLS for byte in head)
    is_text = not strange or (_is_utf8(head) and strange < 0.3 * len(head))
    if (is_text or _wide_encoding(head)) and not head.startswith(b"%PDF-"):
        return
    kind = next((kind for magic, kind in FOREIGN.items() if head.startswith(magic)), "")
    raise DataError(
        f"this is {kind or 'a binary file'}, not text",
        where=name,
        remedy='name a text file: one example a line, TSV, or JSON lines {"src": "...", "tgt": "..."}',
    )


def _is_utf8(head: bytes) -> bool:
    """Whether bytes are UTF-8, but for a character that is cut at their end."""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as fault:
        return fault.start >= len(head) - 3
    return True


def _raw_lines(stream: io.BufferedReader) -> Iterator[bytes]:
    """Lines without their end; of one over the bound only a beginning that is over it, too."""
    most = LINE_BOUND + len(BYTE_ORDER_MARK) + len(b"\r\n")
    while raw := stream.readline(most):
        if raw.endswith(b"\n"):
            raw = raw[:-1]
        elif len(raw) == most:
            rest = raw
            while rest and not rest.endswith(b"\n"):
                rest = stream.readline(LINE_BOUND)
        yield raw.removesuffix(b"\r")


def _refuse_wide_characters(head: bytes, name: str) -> None:
    encoding = _wide_encoding(head)
    if encoding:
        raise DataError(
            f"the file is {encoding}, not UTF-8",
            where=f"{name}:1:1",
            remedy=f"convert it: iconv -f {encoding} -t UTF-8 {name} > NEW",
        )


def _wide_encoding(head: bytes) -> str:
    """UTF-16 or UTF-32 by its mark, or by the zero in every other byte of Western text."""
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "UTF-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    half = len(head) // 2
    zeros = (head[0::2].count(0), head[1::2].count(0))
    if half >= 4 and max(zeros) > 0.4 * half and min(zeros) < 0.05 * half:
        return "UTF-16BE" if zeros[0] > zeros[1] else "UTF-16LE"
    return ""


def _not_utf8(fault: UnicodeDecodeError, place: str, skipped: int) -> DataError:
    return DataError(
        f"byte 0x{fault.object[fault.start]:02X} is not UTF-8",
        where=f"{place}:{fault.start + skipped + 1}",
        remedy="save the file as UTF-8 (iconv -f LATIN1 -t UTF-8), "
        "or leave such lines out (--on-bad-utf8 skip, in Python the setting data.on_bad_utf8; "
        "when predicting, --keep-going)",
    )


# Bytes from plain, gzip, xz and zstd files, told apart by their first bytes and never by name.

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
            raw = io.BufferedReader(cast("io.RawIOBase", origin))
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
        data = self.raw.read(size)
        self.count += len(data)
        return data


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
            data = self.unpacked.read1(len(buffer))
        except self.damage as fault:
            remedy = f"copy the file again ({fault})"
            raise DataError(f"{self.what} is damaged or cut short", self.where, remedy) from None
        self.count += len(data)
        if self.count > FREE + MOST_UNPACKED * self.packed.count:
            raise DataError(
                f"{self.what} unpacks to more than {MOST_UNPACKED} times its size, as no text does",
                self.where,
                remedy="unpack it yourself, if you trust it, and name what comes out",
            )
        buffer[: len(data)] = data
        return len(data)
