"""WAV files: every width comes back, several channels are mixed down, and no mutated byte does harm."""

import io
import struct
import wave
from random import Random

import numpy as np
import pytest

from regard.data import wav
from regard.data.wav import Clip
from regard.errors import DataError, RegardError

RATE = 11_025


def written(samples, rate=RATE, bits=16, channels=1):
    """A file by the standard library's writer; `samples` are integers, channel beside channel."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(bits // 8)
        sound.setframerate(rate)
        offset = 128 if bits == 8 else 0
        raw = b"".join(
            (int(one) + offset).to_bytes(bits // 8, "little", signed=bits > 8)
            for one in np.ravel(samples)
        )
        sound.writeframes(raw)
    return file.getvalue()


def floats(values, bits=32, channels=1):
    raw = np.asarray(values, f"<f{bits // 8}").tobytes()
    head = struct.pack("<HHIIHH", 3, channels, RATE, RATE * bits // 8, channels * bits // 8, bits)
    body = b"WAVEfmt " + struct.pack("<I", 16) + head + b"data" + struct.pack("<I", len(raw)) + raw
    return b"RIFF" + struct.pack("<I", len(body)) + body


@pytest.mark.parametrize("bits", [8, 16, 24, 32])
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_integers_of_every_width_are_shares_of_the_loudest(bits, channels):
    most = 2 ** (bits - 1)
    drawn = np.random.default_rng(bits).integers(-most, most, (17, channels))
    drawn[0] = -most
    found = wav.decode(written(drawn, bits=bits, channels=channels), "here")
    assert found.rate == RATE
    np.testing.assert_allclose(found.samples, (drawn / most).mean(1), atol=1e-7)
    assert found.samples[0] == -1.0


@pytest.mark.parametrize(("kind", "bits"), [(1, 24), (3, 32), (7, 8)])
def test_an_extensible_header_says_its_kind_further_down(kind, bits):
    values = np.array([0.25, -0.5, 0.75], np.float32)
    whole = np.rint(values * 2**23).astype("<i4").view(np.uint8).reshape(-1, 4)[:, :3].tobytes()
    raw = {1: whole, 3: values.tobytes(), 7: b"\0\0\0"}[kind]
    head = struct.pack("<HHIIHH", 0xFFFE, 1, RATE, RATE * bits // 8, bits // 8, bits)
    head += struct.pack("<HHIH", 22, bits, 0, kind) + b"\0" * 14
    parts = b"fmt " + struct.pack("<I", len(head)) + head + b"data" + struct.pack("<I", len(raw))
    data = b"RIFF" + struct.pack("<I", 4 + len(parts) + len(raw)) + b"WAVE" + parts + raw
    if kind == 7:  # mu-law, which telephones write
        with pytest.raises(DataError, match="its samples are of kind 7 with 8 bits") as told:
            wav.decode(data, "here")
        assert "16 bits" in told.value.remedy
    else:
        np.testing.assert_allclose(wav.decode(data, "here").samples, values, atol=1e-6)


@pytest.mark.parametrize("bits", [32, 64])
def test_floats_are_taken_as_they_are(bits):
    values = np.array([0.25, -0.5, 0.75, 1.0])
    np.testing.assert_array_equal(wav.decode(floats(values, bits), "here").samples, values)
    stereo = wav.decode(floats(values, bits, channels=2), "here")
    np.testing.assert_array_equal(stereo.samples, [-0.125, 0.875])


def test_what_we_write_the_standard_library_reads():
    samples = np.linspace(-1, 1, 13).astype(np.float32)
    data = wav.encode(Clip(samples, RATE))
    with wave.open(io.BytesIO(data)) as sound:
        assert (sound.getnchannels(), sound.getsampwidth(), sound.getframerate()) == (1, 2, RATE)
        raw = np.frombuffer(sound.readframes(99), "<i2")
    np.testing.assert_array_equal(raw, np.rint(samples * 32767))
    again = wav.decode(wav.from_url(wav.url(Clip(samples, RATE))), "url")
    np.testing.assert_allclose(again.samples, samples, atol=1e-4)


def test_chunks_of_others_are_passed_over():
    plain = written(np.arange(5))
    noted = plain[:12] + b"LIST" + struct.pack("<I", 3) + b"abc\0" + plain[12:]
    np.testing.assert_array_equal(
        wav.decode(noted, "here").samples, wav.decode(plain, "here").samples
    )


def test_a_stream_whose_end_was_not_known_is_read_to_its_end():
    data = bytearray(written(np.arange(5)))
    place = data.index(b"data") + 4
    data[place : place + 4] = b"\xff" * 4
    assert len(wav.decode(bytes(data), "here").samples) == 5


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "does not begin as a WAV file does"),
        (b"RIFF\0\0\0\0WAVE", "holds no samples"),
        (written([]), "has no samples: it is 0 seconds long"),
        (written(np.arange(9))[:-4], "cut off: 14 of 18 bytes"),
        (b"RF64" + written(np.arange(9))[4:], "of a kind that is not read here"),
        (written(np.arange(9), rate=500), "500 samples a second are not 1,000 to 384,000"),
        (floats([0.5, float("nan")]), "not finite"),
        (written(np.arange(9)).replace(b"\x10\0data", b"\x0c\0data"), "kind 1 with 12 bits"),
    ],
)
def test_what_cannot_be_read_says_why(data, why):
    with pytest.raises(DataError, match=why) as caught:
        wav.decode(data, "here.wav")
    assert caught.value.where == "here.wav"
    assert caught.value.remedy


def test_mutated_files_are_read_or_refused_in_words():
    whole, draw = written(np.arange(40)), Random(3)
    outcomes = {True: 0, False: 0}
    for _ in range(600):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        try:
            end = draw.choice([len(data), len(data), draw.randrange(len(data))])
            found = wav.decode(bytes(data[:end]), "here")
            assert np.isfinite(found.samples).all()
            assert len(found.samples)
            outcomes[True] += 1
        except RegardError:
            outcomes[False] += 1
    assert min(outcomes.values()) > 20
