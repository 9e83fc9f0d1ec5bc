"""Sounds to texts: files and tables, answers and maps, and what stands along a map of a sound."""

import json
from itertools import pairwise

import numpy as np
import pytest

from regard.data import wav
from regard.data.example import Captioned, Spoken
from regard.data.source import understand
from regard.data.tally import Tally
from regard.data.toys.spelling import VOWELS, spelled, spoken
from regard.data.wav import Clip
from regard.decode import DecodeSettings
from regard.errors import DataError, RegardError
from regard.question import SPELLED, Question, Sound
from regard.tasks.axis import Times
from regard.tasks.transcribe import Transcribe
from regard.traces.trace import look_inside
from tests.tasks.kit import EXAMPLES, model_of, task_of

BEAM = DecodeSettings(max_length=9)


@pytest.fixture
def folder(tmp_path):
    """Two sounds, one below in a folder of its own, and a table that names them and one more."""
    for name, length in (("one.wav", 900), ("clips/two.wav", 400)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        samples = np.random.default_rng(length).standard_normal(length) * 0.1
        (tmp_path / name).write_bytes(wav.encode(Clip(samples.astype("f4"), 8_000)))
    rows = [("one.wav", "one"), ("two.wav", "two and two"), ("gone.wav", "three"), ("one.wav", " ")]
    (tmp_path / "sounds.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
    return tmp_path


def tallied(source):
    tally = Tally()
    return [row.example for row in source.rows(tally)], tally


def test_a_folder_of_sounds_and_a_table_is_learned_from(folder):
    for named in (folder, folder / "sounds.tsv"):
        source = understand([named])
        assert source.kind is Spoken
        found, tally = tallied(source)
        assert [one.text for one in found] == ["one", "two and two"]
        assert [one.name for one in found] == ["one.wav", "two.wav"]
        assert tally.dropped == {"no such sound": 1, "empty": 1}
    assert "column 1 (sound) and column 2 (text)" in understand([folder]).description


def test_a_sound_of_another_folder_is_never_taken_and_a_name_that_two_have_is_an_error(folder):
    (folder / "other").mkdir()
    (folder / "other" / "one.wav").write_bytes((folder / "one.wav").read_bytes())
    (folder / "sounds.tsv").write_text("clips/one.wav\tone\nclips/two.wav\ttwo\n")
    found, tally = tallied(understand([folder / "sounds.tsv"]))
    assert [one.text for one in found] == ["two"]  # `other` has a one.wav, and it is another one
    assert tally.dropped == {"no such sound": 1}
    (folder / "other" / "two.wav").write_bytes((folder / "one.wav").read_bytes())
    (folder / "sounds.tsv").write_text("one.wav\tone\ntwo.wav\ttwo\n")
    with pytest.raises(DataError, match=r"'two.wav' lies in clips and in other"):
        tallied(understand([folder / "sounds.tsv"]))


def test_json_lines_and_named_columns_are_understood(folder):
    (folder / "sounds.tsv").unlink()
    (folder / "all.jsonl").write_text(json.dumps({"audio": "one.wav", "transcript": "a\nb"}) + "\n")
    assert tallied(understand([folder / "all.jsonl"]))[0][0].text == "a b"
    (folder / "all.csv").write_text("id,file,text\n7,one.wav,hello\n8,clips/two.wav,you\n")
    found, _ = tallied(understand([folder / "all.csv"]))
    assert [one.text for one in found] == ["hello", "you"]
    assert understand([folder / "all.csv"]).kind is Spoken is not Captioned


def test_a_broken_sound_stops_the_reading_in_words(folder):
    (folder / "one.wav").write_bytes(b"RIFFnonsense")
    task, found = task_of("transcribe"), tallied(understand([folder]))[0]
    with pytest.raises(DataError, match="this sound cannot be read") as caught:
        task.rows(found)
    assert caught.value.where.endswith("one.wav")


def test_a_question_is_a_path_a_url_or_a_sound(folder):
    task, model = task_of("transcribe"), model_of("transcribe")
    path = str(folder / "one.wav")
    clip = wav.decode((folder / "one.wav").read_bytes(), path)
    asked = [path, wav.url(clip), Question({"source": Sound(clip.samples, 8_000)})]
    answers = {one.text for one in task.predict(model, asked, BEAM)}
    assert len(answers) == 1


@pytest.mark.parametrize("asked", ["nothing.wav", "", "data:audio/wav;base64,AAAA", "{}", "\0"])
def test_what_is_no_sound_is_refused_in_words(asked):
    with pytest.raises(RegardError):
        task_of("transcribe").predict(model_of("transcribe"), [asked], BEAM)


def test_the_form_of_sounds_is_kept_with_the_vocabulary():
    task = task_of("transcribe")
    again = Transcribe.from_dict(task.to_dict())
    assert again.form == task.form
    assert again.sizes == task.sizes
    question = task.question(EXAMPLES["transcribe"][0])
    np.testing.assert_array_equal(again.encode(question), task.encode(question))


def test_errors_of_words_decide_and_are_compared():
    task = task_of("transcribe")
    right = ["one two three", "four"]
    words, letters, whole = task.judge(["one two", "four"], right)
    assert (words.name, words.value, words.higher_is_better) == ("WER", 25.0, False)
    assert letters.value == pytest.approx(100 * 6 / 17)
    assert whole.value == 50.0
    by_words, _ = task.compare(["one two", "four"], right, right)
    assert (by_words.system_a.value, by_words.system_b.value) == (25.0, 0.0)
    assert task.report(["One two three", "FOUR"], right, lowercase=True)[0].value == 0.0


def test_a_trace_has_the_sound_along_its_side():
    task, model = task_of("transcribe"), model_of("transcribe")
    question = task.question(EXAMPLES["transcribe"][1])
    seen = look_inside(task, model, question, BEAM)
    axis, site = seen.axes["source"], seen.site()
    assert isinstance(axis, Times)
    frames = len(task.encode(question))
    assert len(axis) == site.weights.shape[2] == -(-frames // 2)
    assert axis.until == pytest.approx(1500 / 8000)
    assert len(axis.waveform) == frames
    assert axis.spectrogram.startswith("data:image/png")
    np.testing.assert_allclose(site.weights.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize(("frames", "states"), [(9, 9), (9, 5), (9, 3), (9, 2), (10, 4), (1, 1)])
def test_a_state_stands_in_the_middle_of_its_frames(frames, states):
    axis = Times(tuple(n / 10 for n in range(frames)), until=1.0).fitted(states, 1, 1)
    assert len(axis) == states
    stride = -(-frames // states)
    stride = 1 << (stride - 1).bit_length() if (frames, states) != (10, 4) else 3
    groups = [range(frames)[n : n + stride] for n in range(0, frames, stride)]
    expected = [(group[0] + group[-1]) / 20 for group in groups]
    assert axis.seconds == pytest.approx(expected)


def test_letters_sound_when_it_is_said_that_they_do():
    clip, spans = spoken("bas ri", 3)
    assert spelled(f"{SPELLED}bas ri/3").samples is clip.samples
    assert len(spans) == 6
    for (_, end), (begin, _) in pairwise(spans):
        assert end == begin
    loud = [
        float(np.abs(clip.samples[int(a * 8000) + 80 : int(b * 8000) - 80]).max()) for a, b in spans
    ]
    assert loud[3] < 0.05 < min(loud[:3] + loud[4:])  # the space is silent
    assert not np.array_equal(spoken("bas ri", 4)[0].samples[:300], clip.samples[:300])
    assert set(VOWELS) == set("aeiou")
