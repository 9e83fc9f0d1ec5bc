"""The one line reader: bytes, split at `\\n` only, one trailing `\\r` taken off, each line UTF-8.

Every file and tool of the project reads lines here, so that N lines mean N lines everywhere. A line
that cannot be used still comes out, with its fault: two files read side by side stay side by side,
and N lines in are N lines out. No line takes more memory than `LINE_BOUND`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from regard.data.compressed import Stream, name_of, opened
from regard.errors import DataError

LINE_BOUND = 64 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

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
        _refuse_wide_characters(stream.peek(4096)[:4096], name)
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
                yield TextLine(number, "", "NUL byte")
            else:
                try:
                    line = TextLine(number, content.decode("utf-8"))
                except UnicodeDecodeError as fault:
                    if on_bad_utf8 == "stop":
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
