"""SRT: cues with their times, alone or paired with those of another file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.example import Line, Pair
from regard.data.formats.subtitle import MOST_CUES, Cue, together
from regard.data.source import understand
from tests.data.kit import read, written


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def srt(*cues: tuple[float, float, str]) -> str:
    def clock(seconds: float) -> str:
        whole, thousandths = divmod(round(seconds * 1000), 1000)
        return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02},{thousandths:03}"

    return "\r\n".join(
        f"{number}\r\n{clock(start)} --> {clock(stop)}\r\n{text}\r\n"
        for number, (start, stop, text) in enumerate(cues, start=1)
    )


ENGLISH = srt(
    (1, 3, "Good <i>morning</i>."),
    (3.5, 5, "{\\an8}How are you,\r\nmy friend?"),
    (8, 10, "I am"),
    (10, 12, "tired."),
    (60, 62, "A door."),
    (3700, 3702, "The end."),
)
GERMAN = srt(
    (1.2, 3.1, "Guten Morgen."),
    (3.4, 5.1, "Wie geht es dir, mein Freund?"),
    (8.1, 12, "Ich bin müde."),
    (30, 31, "Musik."),
    (3700.5, 3702, "Ende."),
)


def test_two_files_are_paired_by_time():
    description, examples, tally = read(
        written("film.en.srt", ENGLISH), written("film.de.srt", GERMAN)
    )
    assert description == (
        "4 pairs: film.en.srt (source) beside film.de.srt (target), SRT, paired by time"
    )
    assert examples == [
        Pair("Good morning.", "Guten Morgen."),
        Pair("How are you, my friend?", "Wie geht es dir, mein Freund?"),
        Pair("I am tired.", "Ich bin müde."),
        Pair("The end.", "Ende."),
    ]
    assert tally.dropped == {"nothing at this time on the other side": 2}
    assert tally.first["nothing at this time on the other side"] == "film.de.srt:13"


def test_names_that_do_not_go_together_are_paired_all_the_same():
    _, examples, _ = read(written("one.srt", ENGLISH), written("two.srt", GERMAN))
    assert len(examples) == 4


@pytest.mark.parametrize("name", ["film.srt", "film.txt"])
def test_one_file_is_what_is_said(name):
    description, examples, _ = read(written(name, ENGLISH))
    assert description == f"6 lines: {name}, SRT, one line a cue"
    assert examples[:2] == [Line("Good morning."), Line("How are you, my friend?")]


def test_two_files_for_a_language_model_follow_one_another():
    _, examples, _ = read(written("one.srt", ENGLISH), written("two.srt", GERMAN), task="language")
    assert len(examples) == 11


def test_what_is_no_cue_is_counted():
    text = "1\n00:00:01,000 --> 00:00:02,000\nYes.\n\n2\n00:00:0 --> \nNo.\n\n\n3\n"
    text += "00:00:05,000 --> 00:00:06,000\n\n4\n00:00:07,000 --> 00:00:08,000\nmaybe\0\n"
    _, examples, tally = read(written("a.srt", text))
    assert examples == [Line("Yes.")]
    assert tally.dropped == {"no times": 1, "empty": 1, "NUL byte": 1}
    assert tally.first["no times"] == "a.srt:5"


def test_a_film_that_hangs_together_from_end_to_end_pairs_nothing():
    one = srt(*((n, n + 2, f"one {n}") for n in range(0, 60, 2)))
    other = srt(*((n + 1, n + 3, f"other {n}") for n in range(0, 60, 2)))
    _, examples, tally = read(written("a.en.srt", one), written("a.de.srt", other))
    assert examples == []
    assert tally.dropped == {"too many cues that overlap": 1}


def moments(draw_from):
    return st.lists(st.tuples(st.integers(0, 500), st.integers(0, 60)), max_size=draw_from).map(
        lambda found: [(start, start + last) for start, last in sorted(found)]
    )


@given(moments(20), moments(20))
def test_every_cue_is_in_one_group(one, other):
    def cues(times):
        return [Cue(number, *time, "") for number, time in enumerate(times)]

    groups = list(together(iter(cues(one)), iter(cues(other))))
    assert all(ours or theirs for ours, theirs in groups)
    if max((len(side) for group in groups for side in group), default=0) <= MOST_CUES:
        assert [cue for ours, _ in groups for cue in ours] == cues(one)
        assert [cue for _, theirs in groups for cue in theirs] == cues(other)


@given(st.integers(0, 30).map(range))
def test_a_file_beside_itself_pairs_each_cue_with_itself(times):
    cues = [Cue(number, 100 * number, 100 * number + 90, "") for number in range(len(times))]
    assert list(together(iter(cues), iter(cues))) == [([cue], [cue]) for cue in cues]


def test_the_task_decides():
    path = written("film.srt", ENGLISH)
    assert understand([path]).kind is Line
