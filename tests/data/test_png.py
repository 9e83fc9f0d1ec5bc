"""The picture of a matrix, read back by the rules of the format."""

import struct
import zlib

import numpy as np

from regard.data.png import SIGNATURE, encode


def chunks(data):
    assert data.startswith(SIGNATURE)
    place = len(SIGNATURE)
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        name, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        assert check == zlib.crc32(name + body)
        yield name, body
        place += 12 + length


def test_dots_come_back():
    colours = np.random.default_rng(3).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    found = dict(chunks(encode(colours)))
    assert list(found) == [b"IHDR", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", found[b"IHDR"]) == (7, 5, 8, 2, 0, 0, 0)
    lines = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(5, 1 + 7 * 3)
    assert (lines[:, 0] == 0).all()
    assert np.array_equal(lines[:, 1:].reshape(5, 7, 3), colours)
