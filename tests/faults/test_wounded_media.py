"""Pictures and sounds, 10^5 wounded files of each kind: numbers that a model can read, or a refusal.

Every file goes the whole way that a question goes, to the frames that a model is given.
"""

import io
import os
import struct

import numpy as np
import pytest

from regard.data import image, png, sound, wav
from regard.data.image import PictureForm
from regard.data.sound import SoundForm
from regard.data.wav import Clip
from regard.errors import DataError, UsageError
from tests.faults.wounds import survive, wounded_bytes

CHUNKS = 10
QUICK = 2.0  # seconds: a wound in its head may make a picture of 50 million pixels, which is read
MANY = 10**6 if os.environ.get("REGARD_LONG") else 10**5
KINDS = ["png", "jpeg", "wav", "npz"]
GREY, COLOURS = PictureForm(16), PictureForm(12, 12, 3)
FEATURES, HEARD = PictureForm(3, channels=5, features=True), SoundForm(8000)
DICE = np.random.default_rng(17)
SCENE = DICE.integers(0, 256, (13, 17, 3), np.uint8)


def pictures(kind):
    """Files as others write them: every mode that a PNG and a JPEG may have."""
    from PIL import Image

    whole = Image.fromarray(SCENE)
    modes = {"png": ("RGB", "L", "RGBA", "LA", "P", "1"), "jpeg": ("RGB", "L", "CMYK")}[kind]
    images = [whole.convert(mode) for mode in modes]
    if kind == "png":
        images.append(Image.fromarray(SCENE[..., 0].astype(np.uint16) * 257))  # 16 bits of grey
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    for number, one in enumerate(images):
        file = io.BytesIO()
        more = {"progressive": number % 2 == 0} if kind == "jpeg" else {}
        one.save(file, kind, **more, **({"exif": exif} if number % 2 else {}))
        yield file.getvalue()
    if kind == "png":
        yield png.encode(SCENE)


def _chunk(name, body):
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def _wave(kind, bits, channels, rate, body):
    block = channels * bits // 8
    head = struct.pack("<HHIIHH", kind, channels, rate, rate * block, block, bits)
    return _chunk(b"RIFF", b"WAVE" + _chunk(b"fmt ", head) + _chunk(b"data", body))


def sounds():
    """Integers and floats of every width, 8 to 96 kHz, one channel and two."""
    tone = np.sin(np.arange(700) / 5)
    yield wav.encode(Clip(tone.astype(np.float32), 8000))
    yield _wave(1, 16, 2, 96_000, np.rint(tone * 3e4).astype("<i2").tobytes())
    yield _wave(1, 8, 1, 11_025, np.rint(tone * 99 + 128).astype(np.uint8).tobytes())
    yield _wave(1, 24, 1, 16_000, np.rint(tone * 99).astype(np.uint8).repeat(3).tobytes())
    yield _wave(1, 32, 1, 44_100, np.rint(tone * 2e9).astype("<i4").tobytes())
    yield _wave(3, 32, 1, 22_050, tone.astype("<f4").tobytes())
    yield _wave(3, 64, 2, 48_000, tone.astype("<f8").tobytes())


def archives():
    """Features of each number type, packed and not, by name and alone."""
    for save, name, kind in [
        (np.savez, "features", "float32"),
        (np.savez_compressed, "features", "float16"),
        (np.savez, "other", "float64"),
        (np.savez, "features", "int8"),
    ]:
        file = io.BytesIO()
        save(file, **{name: DICE.normal(0, 9, (3, 4, 5)).astype(kind)})
        yield file.getvalue()


def see(content):
    picture = image.decoded(content, "here")
    assert 0 not in picture.shape
    for form, width in ((GREY, 16), (COLOURS, 36)):
        frames = form.frames(picture)
        assert frames.dtype == np.uint8
        assert frames.shape[1] == width


def hear(content):
    clip = sound.decoded(content, "here")
    assert np.isfinite(clip.samples).all()
    frames = HEARD.frames(clip)
    assert frames.shape[1] == HEARD.bands
    assert np.isfinite(frames).all()


def take(content):
    found = image.decoded(content, "here")
    assert np.isfinite(FEATURES.frames(found)).all()


def made(kind):
    whole = list(
        {"wav": sounds, "npz": archives}[kind]() if kind in ("wav", "npz") else pictures(kind)
    )
    load = {"wav": hear, "npz": take}.get(kind, see)
    return load, whole


def survived(kind, count, seed):
    """How many of so many wounded files were refused; a sound of no kind names the extra, a `UsageError`."""
    load, whole = made(kind)
    refusals = (DataError, UsageError)
    wound = lambda dice: wounded_bytes(dice.choice(whole), dice)  # noqa: E731
    return survive(load, wound, count, seed, refusals, quick=QUICK)


@pytest.mark.parametrize("kind", KINDS)
def test_files_without_a_wound_are_read(kind):
    load, whole = made(kind)
    for content in whole:
        load(content)


@pytest.mark.parametrize("kind", KINDS)
def test_wounded_media(kind):
    assert 50 < survived(kind, 300, 1) < 300


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("kind", KINDS)
def test_many_wounded_media(kind, chunk):
    survived(kind, MANY // CHUNKS, 100 + chunk)
