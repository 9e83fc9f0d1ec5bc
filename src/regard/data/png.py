"""PNG without any library: pictures of ours are written so, and read again; everything else is Pillow's.

An SVG of very many cells holds one inside; toys draw with it, and a trace keeps its picture so.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator

import numpy as np
from jaxtyping import UInt8

SIGNATURE = b"\x89PNG\r\n\x1a\n"
URL = "data:image/png;base64,"
_KINDS = {0: 1, 2: 3}  # colour types with 8 bits a channel: grey, and red, green and blue
MOST = 1 << 26  # bytes of a picture that is read here


def encode(colours: UInt8[np.ndarray, "row column channel"]) -> bytes:
    """Eight bits of grey, or of red, green and blue, a dot."""
    height, width, channels = colours.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    unfiltered = np.zeros((height, 1), np.uint8)  # each line says how it was filtered: not at all
    lines = np.concatenate([unfiltered, colours.reshape(height, -1)], 1)
    body = zlib.compress(lines.tobytes(), 6)
    return SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def url(colours: UInt8[np.ndarray, "row column channel"]) -> str:
    """The picture as a data URL: text that a page shows, and that `from_url` reads."""
    return URL + base64.b64encode(encode(colours)).decode("ascii")


def from_url(text: str) -> bytes | None:
    """The bytes of a picture that is written as a data URL, of any kind; None where it is damaged."""
    head, comma, body = text.partition(",")
    if not head.startswith("data:image/") or not head.endswith(";base64") or not comma:
        return None
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return None


def decode(data: bytes) -> UInt8[np.ndarray, "row column channel"] | None:
    """A picture that `encode` wrote; None for any other, also one that is damaged."""
    try:
        return _decoded(data)
    except (struct.error, zlib.error, ValueError, KeyError):
        return None


def _decoded(data: bytes) -> np.ndarray | None:
    chunks = list(_chunks(data))
    if not chunks or chunks[0][0] != b"IHDR" or chunks[-1][0] != b"IEND":
        return None
    width, height, bits, colour, packing, filtering, interlaced = struct.unpack(
        ">IIBBBBB", chunks[0][1]
    )
    known = {name for name, _ in chunks} == {
        b"IHDR",
        b"IDAT",
        b"IEND",
    }  # no palette, no transparency
    if not known or bits != 8 or (packing, filtering, interlaced) != (0, 0, 0):
        return None
    channels = _KINDS[colour]
    line = 1 + width * channels
    if not 0 < line * height <= MOST:
        return None
    packed = zlib.decompressobj()
    raw = packed.decompress(
        b"".join(body for name, body in chunks if name == b"IDAT"), line * height
    )
    lines = np.frombuffer(raw, np.uint8).reshape(height, line)
    if lines[:, 0].any():  # filtered, as others write it
        return None
    return lines[:, 1:].reshape(height, width, channels)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(SIGNATURE)
    if data[:place] != SIGNATURE:
        return
    while place < len(data):
        (length,), name = struct.unpack_from(">I", data, place), data[place + 4 : place + 8]
        body = data[place + 8 : place + 8 + length]
        if _chunk(name, body) != data[place : place + 12 + length]:
            raise ValueError("a chunk is damaged")
        yield name, body
        place += 12 + length


def _chunk(name: bytes, data: bytes) -> bytes:
    check = zlib.crc32(name + data)
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)
