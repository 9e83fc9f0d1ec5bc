"""A matrix of colours as a PNG file, in the thirty lines that this takes: no library, no text.

An SVG of very many cells holds one inside, one dot a cell; `raster.py` writes its pictures with it.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
from jaxtyping import UInt8

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def encode(colours: UInt8[np.ndarray, "row column 3"]) -> bytes:
    """Eight bits of red, green and blue a dot."""
    height, width, _ = colours.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    unfiltered = np.zeros((height, 1), np.uint8)  # each line says how it was filtered: not at all
    lines = np.concatenate([unfiltered, colours.reshape(height, -1)], 1)
    body = zlib.compress(lines.tobytes(), 6)
    return SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    check = zlib.crc32(name + data)
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)
