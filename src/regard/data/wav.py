"""WAV without any library: 8, 16, 24 and 32 bits, or floats, of any number of channels, read with bounds.

What a header claims is believed only as far as the bytes bear it out. We write 16 bits ourselves.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from regard.errors import DataError

URL = "data:audio/wav;base64,"
RATES = (1_000, 384_000)  # samples a second, from the least to the most
CHANNELS = 64  # the most
LOUDEST = 2.0**31  # some write floats as large as integers of 32 bits
PCM, FLOATS, EXTENSIBLE = 1, 3, 0xFFFE
UNKNOWN_SIZE = (
    0xFFFFFFFF,
    0x7FFFFFFF,
    0x7FFFF000,
)  # what programs write that do not know the end yet


class Clip(NamedTuple):
    """One channel of samples from -1 to 1, `rate` of them a second."""

    samples: Float[np.ndarray, " sample"]
    rate: int

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.samples) / self.rate


class _Form(NamedTuple):
    kind: int
    channels: int
    rate: int
    block: int  # bytes of one sample of all channels
    bits: int


def decode(data: bytes, where: str) -> Clip:
    """A WAV file; several channels are mixed down to their mean."""
    if len(data) < 12 or data[8:12] != b"WAVE":
        raise _refused("it does not begin as a WAV file does", where)
    if data[:4] != b"RIFF":
        raise _refused("it is a WAV file of a kind that is not read here (RIFX, RF64)", where)
    form: _Form | None = None
    for name, claimed, body in _chunks(data):
        if name == b"fmt ":
            form = _form(body, where)
        elif name == b"data":
            if form is None:
                raise _refused("its samples stand before their description", where)
            if len(body) < claimed and claimed not in UNKNOWN_SIZE:
                what = f"it is cut off: {len(body):,} of {claimed:,} bytes of sound are there"
                raise _refused(what, where)
            return Clip(_samples(body, form, where), form.rate)
    raise _refused("it holds no samples at all", where)


def encode(clip: Clip) -> bytes:
    """16 bits a sample, one channel."""
    whole = np.rint(np.clip(clip.samples, -1, 1) * 32767).astype("<i2").tobytes()
    head = struct.pack("<HHIIHH", PCM, 1, clip.rate, clip.rate * 2, 2, 16)
    body = b"WAVE" + _chunk(b"fmt ", head) + _chunk(b"data", whole)
    return _chunk(b"RIFF", body)


def url(clip: Clip) -> str:
    """The sound as a data URL, which a page can play."""
    return URL + base64.b64encode(encode(clip)).decode("ascii")


def from_url(text: str) -> bytes | None:
    """The bytes of a sound that is written as a data URL, of any kind; None where it is damaged."""
    head, comma, body = text.partition(",")
    if not head.startswith("data:audio/") or not head.endswith(";base64") or not comma:
        return None
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return None


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """Each chunk's name, the size it claims, and what is there of it."""
    place = 12
    while place + 8 <= len(data):
        name, (size,) = data[place : place + 4], struct.unpack_from("<I", data, place + 4)
        yield name, size, data[place + 8 : place + 8 + size]
        place += 8 + size + size % 2  # an odd chunk has one byte behind it


def _form(body: bytes, where: str) -> _Form:
    if len(body) < 16:
        raise _refused("the description of its samples is too short", where)
    kind, channels, rate, _, block, bits = struct.unpack_from("<HHIIHH", body)
    if kind == EXTENSIBLE and len(body) >= 26:
        (kind,) = struct.unpack_from("<H", body, 24)
    form = _Form(kind, channels, rate, block, bits)
    if (kind, bits) not in {(PCM, n) for n in (8, 16, 24, 32)} | {(FLOATS, 32), (FLOATS, 64)}:
        raise _refused(f"its samples are of kind {kind} with {bits} bits, not plain ones", where)
    if not 1 <= channels <= CHANNELS or block != channels * bits // 8:
        raise _refused(f"it says {channels} channels of {bits} bits in {block} bytes", where)
    if not RATES[0] <= rate <= RATES[1]:
        least, most = RATES
        raise _refused(f"{rate:,} samples a second are not {least:,} to {most:,}", where)
    return form


def _samples(body: bytes, form: _Form, where: str) -> Float[np.ndarray, " sample"]:
    count = len(body) // form.block
    if not count:
        raise DataError("this sound has no samples: it is 0 seconds long", where, "leave it out")
    raw = np.frombuffer(body, np.uint8, count * form.block)
    match form.kind, form.bits:
        case 3, bits:
            values = _floats(raw.view("<f4" if bits == 32 else "<f8"), where)
        case _, 8:  # the only width whose samples have no sign
            values = (raw.astype(np.float64) - 128) / 128
        case _, 24:
            wide = np.zeros((len(raw) // 3, 4), np.uint8)
            wide[:, 1:] = raw.reshape(-1, 3)
            values = wide.view("<i4")[:, 0] / 2.0**31
        case _, bits:
            values = raw.view(f"<i{bits // 8}") / 2.0 ** (bits - 1)
    return values.reshape(count, form.channels).mean(1).astype(np.float32)


def _floats(values: np.ndarray, where: str) -> np.ndarray:
    """Samples that are no integers: beyond 1 here and there, but none that a spectrum cannot hold."""
    if not np.isfinite(values).all() or not np.abs(values).max() <= LOUDEST:
        what = "this sound has samples that are not finite, or far beyond 1"
        raise DataError(what, where, "leave it out")
    return values.astype(np.float64)


def _chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def _refused(why: str, where: str) -> DataError:
    what = f"this sound cannot be read: {why}"
    return DataError(what, where[:200], "save it again as WAV with 16 bits, or leave it out")
