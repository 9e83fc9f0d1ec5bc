"""Sounds from everywhere: files, URLs, arrays, words; at any rate; and what is none is refused in words."""

import json

import numpy as np
import pytest

from regard.data import png, sound, wav
from regard.data.example import Spoken
from regard.data.sound import SoundForm, SoundSettings
from regard.data.wav import Clip
from regard.errors import DataError, ModelFileError, RegardError, UsageError
from regard.question import Question, Sound


def tone(hertz, rate, seconds=0.2):
    return Clip(
        np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate).astype("f4"), rate
    )


def glide(rate):
    """Half a second from 300 to 3,300 Hz."""
    time = np.arange(rate // 2) / rate
    return Clip(np.sin(2 * np.pi * (300 + 3000 * time) * time).astype("f4"), rate)


@pytest.mark.parametrize(("before", "after"), [(96_000, 8_000), (44_100, 16_000), (8_000, 11_025)])
def test_a_tone_is_the_same_tone_at_another_rate(before, after):
    found = sound.resampled(tone(440, before), after)
    expected = tone(440, after).samples
    assert len(found) == len(expected)
    inside = slice(after // 50, -after // 50)
    np.testing.assert_allclose(found[inside], expected[inside], atol=2e-3)


def test_what_the_new_rate_cannot_hold_is_gone():
    """Without a filter, 6 kHz at 8,000 samples a second would be heard as 2 kHz."""
    found = sound.resampled(tone(6_000, 48_000), 8_000)
    assert np.abs(found[200:-200]).max() < 0.01


def test_a_96_khz_stereo_file_gives_the_frames_of_its_8_khz_original(tmp_path):
    form = SoundForm(8_000, 20, 200, 80)
    high = glide(96_000).samples
    stereo = np.stack([high, high], 1).ravel()
    raw = np.rint(stereo * 32767).astype("<i2").tobytes()
    mono = wav.encode(Clip(high, 96_000))
    head = bytearray(mono[:44])
    head[22:24] = (2).to_bytes(2, "little")
    head[32:34] = (4).to_bytes(2, "little")
    head[40:44] = len(raw).to_bytes(4, "little")
    (tmp_path / "high.wav").write_bytes(bytes(head) + raw)
    found = form.frames(sound.read(tmp_path / "high.wav"))
    expected = form.frames(glide(8_000))
    assert found.shape == expected.shape == (49, 20)
    assert (found.argmax(1) == expected.argmax(1)).mean() > 0.95
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.95
    assert len(set(expected.argmax(1))) > 9


def test_all_ways_to_name_one_sound_give_it(tmp_path):
    clip = tone(300, 8_000)
    (tmp_path / "a.wav").write_bytes(wav.encode(clip))
    path, url = str(tmp_path / "a.wav"), wav.url(clip)
    asked = [
        path,
        url,
        Question({"source": Sound(path)}),
        Question({"source": Sound(clip.samples, 8_000)}),
        str(Question({"source": Sound(path)})),
        json.dumps({"sound": clip.samples.tolist(), "rate": 8_000}),
        sound.question_of(clip.samples, 8_000),
        sound.question_of(Sound((clip.samples * 32767).astype(np.int16), 8_000)),
    ]
    for one in asked:
        np.testing.assert_allclose(sound.clip_of(one).samples, clip.samples, atol=1e-4)


@pytest.mark.parametrize(
    ("origin", "kind", "why"),
    [
        ("nothing-here.wav", UsageError, "there is no such sound"),
        ("data:audio/wav;base64,!!", DataError, "data URL is damaged"),
        ("spell:xyz/1", UsageError, "names no sound that can be spelt"),
        ("spell:   /1", UsageError, "names no sound that can be spelt"),
        (np.zeros((2, 3, 4)), UsageError, "a sound cannot be"),
        (np.array([0.0, np.nan]), UsageError, "a sound cannot be"),
        ("\0", UsageError, "there is no such sound"),
    ],
)
def test_what_is_no_sound_says_why(origin, kind, why):
    with pytest.raises(kind, match=why):
        sound.read(origin, 8_000)


def test_a_file_of_another_kind_names_the_extra_or_is_refused(tmp_path):
    (tmp_path / "a.flac").write_bytes(b"fLaC" + bytes(40))
    with pytest.raises(RegardError) as caught:
        sound.read(tmp_path / "a.flac")
    assert "WAV" in caught.value.remedy


def test_a_folder_is_no_sound(tmp_path):
    with pytest.raises(DataError, match="this is a folder, and one sound is asked about"):
        sound.read(tmp_path)


def test_samples_need_their_rate():
    with pytest.raises(UsageError, match="at a rate of None"):
        sound.read(np.zeros(9))


def test_ten_minutes_are_the_most():
    with pytest.raises(DataError, match="lasts 601 seconds, over 600"):
        sound.decoded(wav.encode(Clip(np.zeros(601 * 1000, np.float32), 1000)), "long.wav")


def test_the_first_sounds_decide_the_form():
    clips = [tone(300, 44_100), tone(300, 22_050)]
    assert SoundForm.of(clips, SoundSettings()) == SoundForm(16_000, 40, 400, 160)
    assert SoundForm.of([tone(300, 8_000)], SoundSettings()) == SoundForm(8_000, 40, 200, 80)
    own = SoundSettings(rate=12_000, bands=30, window=20, hop=5)
    assert SoundForm.of(clips, own) == SoundForm(12_000, 30, 240, 60)
    with pytest.raises(DataError, match="not one sound"):
        SoundForm.of([], SoundSettings())


def test_a_form_is_kept_and_a_damaged_one_refused():
    form = SoundForm(8_000, 20, 200, 80)
    assert SoundForm.from_json(form.to_json()) == form
    for damaged in ("[]", "{}", form.to_json().replace("8000", "1e99"), "{"):
        with pytest.raises(ModelFileError):
            SoundForm.from_json(damaged)


def test_pictures_of_a_sound_show_it():
    form, clip = SoundForm(8_000, 20, 200, 80), glide(8_000)
    frames = form.frames(clip)
    picture = png.decode(png.from_url(form.shown(clip)))
    assert picture.shape == (20, len(frames), 1)
    loudest = picture[:, :, 0].argmax(0)
    assert loudest[0] > 12 > 5 > loudest[-2]  # what rises goes up
    assert len(form.waveform(clip, len(frames))) == len(frames)
    assert max(form.waveform(clip, len(frames))) == pytest.approx(1.0, abs=1e-3)
    moments = form.seconds(len(frames))
    assert moments[0] == pytest.approx(0.0125)
    assert moments[1] - moments[0] == pytest.approx(0.01)


def test_a_preview_says_how_long_and_how_loud(tmp_path):
    half = np.concatenate([np.zeros(800), tone(300, 8_000, 0.1).samples]).astype("f4")
    (tmp_path / "a.wav").write_bytes(wav.encode(Clip(half, 8_000)))
    shown = Spoken(str(tmp_path / "a.wav"), "hello").shown()
    assert shown == ("a.wav  0.20 s  " + "▁" * 8 + "█" * 8, "hello")
    assert Spoken("gone.wav", "hello").shown()[0] == "gone.wav  (there is no such sound)"
