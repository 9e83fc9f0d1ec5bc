"""What is found before training: refused when nothing could be learned, else warned about with lines."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.check import Report, examine
from regard.data.drift import first_drift
from regard.data.example import Labelled, Line, Pair, Pointed, Tagged
from regard.data.source import understand
from regard.data.survey import MISREAD, Seen, key_of
from regard.data.tally import require_some
from regard.errors import DataError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Paths in messages are then as short as a person types them."""
    monkeypatch.chdir(tmp_path)


def written(name: str, content: str | bytes) -> Path:
    path = Path(name)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def side(name: str, lines: list[str]) -> Path:
    return written(name, "".join(line + "\n" for line in lines))


WORDS = {
    "the": "der", "a": "ein", "dog": "Hund", "man": "Mann", "woman": "Frau", "child": "Kind",
    "tree": "Baum", "house": "Haus", "runs": "rennt", "sees": "sieht", "walks": "geht",
    "with": "mit", "under": "unter", "near": "nahe", "happy": "froh", "little": "kleiner",
}  # fmt: skip


def sentences(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Word-for-word translations, all different."""
    draw = random.Random(seed)
    picks = [draw.choices(list(WORDS), k=draw.randrange(4, 25)) for _ in range(count)]
    return [" ".join(pick) for pick in picks], [" ".join(map(WORDS.get, pick)) for pick in picks]


def examined(english: list[str], german: list[str], **others) -> Report:
    paths = [side("train.en", english), side("train.de", german)]
    return examine(understand(paths), **others)


def test_clean_data_gives_a_summary_and_no_warning():
    english, german = sentences(50)
    report = examined(english, german)
    assert report.warnings == []
    assert report.rows == tuple(map(Pair, english[:3], german[:3]))
    assert report.summary().split("\n")[0] == (
        "train: 50 pairs: train.en (source) beside train.de (target), plain text"
    )
    assert len(report.summary().split("\n")) == 4
    assert json.loads(json.dumps(report.as_dict())) == {
        "sources": [
            {
                "role": "train",
                "description": "50 pairs: train.en (source) beside train.de (target), plain text",
                "kept": 50,
                "dropped": {},
            }
        ],
        "rows": [{"source": english[i], "target": german[i]} for i in range(3)],
        "warnings": [],
    }


# Line counts (T11)


def test_uneven_files_are_refused_with_counts_place_and_cause():
    english, german = sentences(40)
    english[16] = english[16].replace(" ", "\u2028", 1)
    half = german[16].index(" ")
    german[16:17] = [german[16][:half], german[16][half + 1 :]]
    with pytest.raises(DataError) as caught:
        examined(english, german)
    assert str(caught.value) == (
        "train.en has 40 lines, but train.de has 41\n"
        "train.de:17: about here the lengths stop going together\n"
        "train.en holds U+2028 on line 17: some tools end a line there, regard at \\n only; "
        "write both files again with one tool"
    )
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("character", "name"), [("\u2028", "U+2028"), ("\x85", "U+0085"), ("\r", "a lone \\r")]
)
def test_each_treacherous_character_is_named(character, name):
    english, german = sentences(40)
    english[3] = english[3].replace(" ", character, 1)
    english[9] = english[9].replace(" ", character, 1)
    with pytest.raises(DataError) as caught:
        examined(english, german[:20])
    assert caught.value.remedy.startswith(f"train.en holds {name} on line 4 and on 1 more: ")


def test_a_file_that_was_cut_short_is_said_to_be():
    english, german = sentences(60)
    with pytest.raises(DataError) as caught:
        examined(english, german[:47])
    assert str(caught.value) == (
        "train.en has 60 lines, but train.de has 47\n"
        "train.de:47: they go together up to here, where train.de ends\n"
        "was train.de cut short?"
    )


def test_without_a_cause_the_usual_ones_are_named():
    english, german = sentences(60)
    del german[20]
    with pytest.raises(DataError) as caught:
        examined(english, german)
    assert str(caught.value) == (
        "train.en has 60 lines, but train.de has 59\n"
        "train.en:21: about here the lengths stop going together\n"
        "regard ends a line at \\n only; did a tool end lines at U+2028, U+0085 or a lone \\r, too? "
        "Write both files again with one tool"
    )


def test_reading_never_cuts_to_the_shorter_file():
    source = understand([side("a.en", ["one", "two"]), side("a.de", ["eins"])])
    with pytest.raises(DataError, match=r"a.en has 2 lines, but a.de has 1"):
        list(source.examples())


@given(
    seed=st.integers(0, 1000),
    where=st.lists(st.integers(20, 150), min_size=1, max_size=12, unique=True),
)
def test_the_first_drift_is_found_to_a_few_lines(seed, where):
    """Lines are inserted into the longer file; lengths are in a ratio of 1.2 with noise."""
    draw = np.random.default_rng(seed)
    short = draw.integers(20, 200, 300)
    long = np.rint(short * 1.2 * draw.uniform(0.95, 1.05, 300)).astype(int)
    longer = np.insert(long, sorted(where), draw.integers(20, 240, len(where)))
    found = first_drift(short, longer, extra=len(where), complete=True)
    assert found is not None
    assert abs(found - min(where)) <= 6


def test_no_drift_is_claimed_for_a_beginning_that_goes_together():
    lengths = np.random.default_rng(0).integers(20, 200, 500)
    assert first_drift(lengths, lengths, extra=3, complete=False) is None
    shifted = np.insert(lengths, 100, 77)[:500]
    assert first_drift(lengths, shifted, extra=3, complete=False) == 100


# What is left out (T12-T15)


def test_dropped_pairs_are_counted_with_their_first_line():
    english, german = sentences(30)
    english[4] = german[9] = " "
    german[11] += "\0"
    english[20] = "word " * 14_000
    report = examined(english, german)
    assert report.warnings == [
        "2 pairs left out (an empty side): train.en:5, ...",
        "1 pair left out (a NUL byte): train.de:12",
        "1 pair left out (a line over 64 KiB): train.en:21",
    ]
    assert report.sources[0].kept == 26
    assert report.sources[0].dropped == {"empty": 2, "NUL byte": 1, "too long": 1}


def test_a_byte_order_mark_is_noted():
    english, german = sentences(20)
    english[0] = "\ufeff" + english[0]
    assert examined(english, german).warnings == [
        "train.en: the byte-order mark at its beginning was left out"
    ]


def test_cells_behind_the_last_column_are_told():
    """A tab inside a sentence cut its end off, without a word."""
    lines = [f"the dog {n}\tder Hund {n}" for n in range(20)]
    lines[7] += "\tund mehr"
    path = Path("train.tsv")
    path.write_text("\n".join(lines) + "\n")
    assert examine(understand([path])).warnings == [
        "train.tsv: 1 row has more than 2 columns, and what stands behind was not read: line 8"
    ]
    path.write_text("\n".join(f"{line}\tx" for line in lines[:7]) + "\n")
    assert not [one for one in examine(understand([path])).warnings if "columns" in one]


def test_bad_utf8_is_refused_or_counted():
    english, german = sentences(20)
    paths = [side("train.en", english), side("train.de", german)]
    paths[1].write_bytes(paths[1].read_bytes().replace(b"Hund", b"H\xfcnd", 1))
    with pytest.raises(DataError, match=r"byte 0xFC is not UTF-8\ntrain.de:\d+:\d+\n"):
        examine(understand(paths))
    report = examine(understand(paths, on_bad_utf8="skip"))
    assert report.sources[0].dropped == {"not UTF-8": 1}
    assert report.warnings[0].startswith("1 pair left out (not UTF-8): train.de:")


def test_nothing_left_is_refused():
    with pytest.raises(DataError) as caught:
        examined(["", "one", "x" * 70_000], ["eins", "", "drei"])
    assert str(caught.value) == (
        "0 of 3 pairs left: 2 empty, 1 too long\n"
        "train.en, train.de\n"
        "mend the data, or allow longer examples if they are too long"
    )


def test_an_empty_validation_set_is_refused():
    english, german = sentences(20)
    valid = understand([written("valid.en", ""), written("valid.de", "")])
    with pytest.raises(DataError) as caught:
        examined(english, german, valid=valid)
    assert str(caught.value) == "there is not one pair here\nvalid.en, valid.de\nis the file empty?"


def test_require_some_speaks_for_any_filter():
    require_some(1, {"too long": 999}, "pair", "train.en")
    with pytest.raises(DataError, match=r"^0 of 1,000 pairs left: 812 too long, 188 empty\n"):
        require_some(0, {"empty": 188, "too long": 812, "NUL byte": 0}, "pair", "train.en")


# What is warned about (T24)


def test_repeats():
    english, german = sentences(30)
    report = examined(english + english[:5], german + german[:4] + [german[7]])
    assert report.warnings == ["4 pairs repeated word for word: train.en:31, 32, 33, ..."]


def test_overlap_of_training_valid_and_test():
    english, german = sentences(30)
    others = sentences(20, seed=1)
    more = sentences(20, seed=2)
    test = [
        side("test.en", [*others[0], english[3], english[5], english[3], english[6]]),
        side("test.de", [*others[1], german[3], german[5], german[3], german[6].upper()]),
    ]
    valid = [
        side("valid.en", [*more[0], english[8], others[0][6]]),
        side("valid.de", [*more[1], german[8].upper(), others[1][6]]),
    ]
    report = examined(english, german, valid=understand(valid), test=understand(test))
    assert [source.role for source in report.sources] == ["train", "valid", "test"]
    assert report.warnings == [
        "1 pair repeated word for word: test.en:23",
        "1 of 22 valid pairs share their input with training: valid.en:21 = train.en:9",
        "1 of 24 test pairs are also in validation: test.en:7 = valid.en:22",
        "4 of 24 test pairs share their input with training, 3 the output as well: "
        "test.en:21 = train.en:4",
    ]


def test_a_test_set_that_is_the_training_set():
    english, german = sentences(30)
    test = [side("test.en", english), side("test.de", german)]
    assert examined(english, german, test=understand(test)).warnings == [
        "30 of 30 test pairs are also in training: test.en:1 = train.en:1"
    ]


def test_swapped_rows_are_found():
    english, german = sentences(200)
    for row in (20, 70):
        english[row], german[row] = german[row], english[row]
    assert examined(english, german).warnings == [
        "2 pairs with source and target the wrong way round: train.en:21, 71"
    ]


def test_a_swapped_validation_set_is_found():
    english, german = sentences(200)
    others = sentences(20, seed=1)
    valid = understand([side("valid.de", others[1]), side("valid.en", others[0])])
    assert examined(english, german, valid=valid).warnings == [
        "the pairs to valid with have source and target the other way round than training: "
        "valid.de, valid.en"
    ]


def test_one_language_on_both_sides_is_not_swapped():
    english, _ = sentences(100)
    reversed_words = [" ".join(reversed(text.split())) for text in english]
    assert examined(english, reversed_words).warnings == []


def test_one_file_named_twice_is_noticed():
    english, german = sentences(40)
    assert examined(english, english).warnings == [
        "40 of 40 pairs say the same on both sides: was one file named twice?"
    ]
    assert examined(english, [*english[:20], *german[20:]]).warnings == []


def test_length_ratio_outliers():
    english, german = sentences(100)
    german[30] = german[30] * 12
    english[60] = "dog " * 200
    assert examined(english, german).warnings == [
        "2 pairs far longer or shorter than the other side: train.en:31, 61"
    ]


def test_mixed_encodings():
    english, german = sentences(30)
    german[3] += " schön".encode().decode("latin-1")
    german[4] += " ’s".encode().decode("cp1252")
    german[5] += " \ufffd"
    english[6] += "\u2028"
    assert examined(english, german).warnings == [
        "2 pairs with letters read in the wrong encoding (such as Ã© for é): train.en:4, 5",
        "1 pair with U+FFFD, where a letter was lost: train.en:6",
        "1 pair with U+2028, U+0085, a lone \\r or the like, where other tools end a line: train.en:7",
    ]


@pytest.mark.parametrize("text", ["é à ü", "приве́т", "naïve “quotes”", "… © 2020"])
def test_misread_text_is_told_from_good_text(text):
    assert not MISREAD.search(text)
    assert MISREAD.search(text.encode().decode("cp1252", errors="replace"))


@pytest.mark.parametrize(
    "text", ["IRMÃO", "„SPÖ“ und „ÖVP“", "LIBERTÉ\u00a0»", "Ñandú", "Ðorđe Ïle"]
)
def test_capitals_with_marks_are_good_text(text):
    assert not MISREAD.search(text)


def test_labels_that_training_never_shows():
    train = understand([written("train.tsv", "1\tgood film\n0\tbad film\n1\tso so\n")])
    valid = understand([written("valid.tsv", "2\tfine film\n0\tdull film\n2\tno no\n")])
    assert examine(train, valid).warnings == ["1 label to valid with, but never trained on: 2"]


# In bounded memory


def test_seen_counts_exactly_until_it_must_thin():
    seen = Seen(most=1000)
    keys = [key_of(Line(str(number))) for number in range(1000)]
    assert [seen.add(key) for key in keys * 2] == [False] * 1000 + [True] * 1000
    assert (seen.rate, seen.repeated) == (1, 1000)


def test_seen_thins_to_a_fair_sample():
    """Of 20,000 examples each third comes twice; a sample of 1,000 keeps the estimate near."""
    seen = Seen(most=1000)
    for number in range(20_000):
        seen.add(key_of(Line(str(number))))
        if number % 3 == 0:
            seen.add(key_of(Line(str(number))))
    assert len(seen.places) <= 1000
    assert seen.rate >= 20
    assert seen.repeated == pytest.approx(20_000 / 3, rel=0.2)


@pytest.mark.parametrize(
    ("example", "same_input"),
    [
        (Pair("a", "b"), Pair("a", "c")),
        (Labelled("a", "b"), Labelled("a", "c")),
        (Tagged(("a", "b"), ("X", "Y")), Tagged(("a", "b"), ("X", "X"))),
        (Pointed(((1.0,),), (0,)), Pointed(((1.0,),), ())),
    ],
)
def test_keys_tell_examples_apart(example, same_input):
    assert key_of(example) != key_of(same_input)
    assert key_of(example, input_only=True) == key_of(same_input, input_only=True)
    assert key_of(Pair("a b", "c")) != key_of(Pair("a", "b c"))


def test_a_look_may_end_early_and_tells_how_far_it_is():
    english, german = sentences(50)
    heard = []
    paths = [side("train.en", english), side("train.de", german)]
    report = examine(understand(paths), most=20, advance=heard.append)
    assert report.sources[0].kept == 20
    assert report.sources[0].description.startswith("the first 20 pairs: train.en")
    assert heard == [0]
    assert examine(understand(paths), most=51).sources[0].description.startswith("50 pairs")


def test_files_of_text_are_said_to_be_for_a_language_model():
    for name in ("a.txt", "b.txt", "c.txt", "train.en", "train.de", "train.fr"):
        side(name, [f"{name} {number}" for number in range(3)])
    books = examine(understand([Path("a.txt"), Path("b.txt"), Path("c.txt")]))
    assert books.sources[0].description.endswith("c.txt, plain text; for a language model")
    assert books.warnings == []
    sides = examine(understand([Path("train.en"), Path("train.de"), Path("train.fr")]))
    assert sides.warnings == [
        "train.en and train.de look like two sides of one text; of 3 files each line is read by itself, "
        "for a language model: for a translator, name two"
    ]
