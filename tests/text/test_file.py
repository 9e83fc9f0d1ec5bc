"""Files: what was saved loads equal; everything else is one kind of error, with one clear reason."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import regard.text.codec as room
from regard.errors import ModelFileError
from regard.text import Codec
from tests.text.samples import KINDS, learned


@pytest.fixture(scope="module")
def reloaded(codecs):
    return {kind: Codec.from_json(codec.to_json()) for kind, codec in codecs.items()}


@pytest.mark.parametrize("kind", KINDS)
@given(written=st.text(st.characters(exclude_categories=["Cs"])))
def test_saved_and_loaded_are_equal(codecs, reloaded, kind, written):
    assert reloaded[kind].explain(written) == codecs[kind].explain(written)


@pytest.mark.parametrize("kind", KINDS)
def test_saving_again_gives_the_same_file(codecs, reloaded, kind):
    assert reloaded[kind].to_json() == codecs[kind].to_json()
    assert reloaded[kind].settings == codecs[kind].settings
    assert Codec.from_json(codecs[kind].to_json().encode()).to_json() == codecs[kind].to_json()


def broken(kind: str, **changes) -> str:
    document = json.loads(learned(kind, 300).to_json())
    for key, value in changes.items():
        document[key] = value(document[key]) if callable(value) else value
    return json.dumps({key: value for key, value in document.items() if value is not Ellipsis})


def swapped(items, place, value):
    return [*items[:place], value, *items[place + 1 :]]


TWO_IDS = "merges[0] must be two ids of learned pieces"
LOGARITHM = "scores[7] must be a logarithm between -1000.0 and 0.0"
CASES = {
    "foreign": (broken("bpe", format="tokenizers"), "this is not a regard-text file"),
    "not an object": ("[]", "this is not a regard-text file"),
    "no version": (broken("bpe", version=...), "version must be 1, not None"),
    "true is not 1": (broken("bpe", version=True), "version must be 1, not True"),
    "extra key": (
        broken("bpe", pre_tokenizer={"Regex": "(a+)+$"}),
        "missing or unknown key 'pre_tokenizer'",
    ),
    "missing key": (broken("bpe", merges=...), "missing or unknown key 'merges'"),
    "unknown setting": (
        broken("bpe", settings=lambda s: s | {"regex": "x"}),
        "settings.regex: Extra inputs are not permitted",
    ),
    "unknown kind": (
        broken("bpe", settings=lambda s: s | {"kind": "syllables"}),
        "settings.kind: Input should be ",
    ),
    "text for a number": (
        broken("bpe", settings=lambda s: s | {"vocabulary": "300"}),
        "settings.vocabulary: Input should be a valid integer",
    ),
    "no settings": (broken("bpe", settings=None), "settings: Input should be "),
    "pieces are no list": (broken("bpe", pieces={}), "pieces must be a list, not {}"),
    "no pieces": (broken("bpe", pieces=[], merges=[]), "pieces[0] must be '<pad>'"),
    "special missing": (broken("word", pieces=lambda p: p[:2] + p[3:]), "pieces[2] must be '</s>'"),
    "specials in disorder": (
        broken("word", pieces=lambda p: [p[1], p[0], *p[2:]]),
        "pieces[0] must be '<pad>'",
    ),
    "byte missing": (
        broken("bpe", pieces=lambda p: swapped(p, 100, "q!")),
        "pieces[100] must be '<0x60>'",
    ),
    "only specials": (broken("unigram", pieces=lambda p: p[:4]), "pieces[4] must be '<0x00>'"),
    "empty piece": (
        broken("word", pieces=lambda p: swapped(p, 5, "")),
        "pieces[5] must be a string, not ''",
    ),
    "number for a piece": (
        broken("word", pieces=lambda p: swapped(p, 5, 7)),
        "pieces[5] must be a string, not 7",
    ),
    "duplicate": (
        broken("word", pieces=lambda p: swapped(p, 9, p[6])),
        "pieces[9] repeats pieces[6]",
    ),
    "control": (
        broken("word", pieces=lambda p: swapped(p, 9, "a\x1b[2J")),
        "pieces[9] has a control character",
    ),
    "NUL": (
        broken("char", pieces=lambda p: swapped(p, 9, "\x00")),
        "pieces[9] has a control character",
    ),
    "line separator": (
        broken("char", pieces=lambda p: swapped(p, 9, "\u2028")),
        "pieces[9] has a control character",
    ),
    "too many": (
        broken("word", settings=lambda s: s | {"vocabulary": 9}),
        "there are 60 pieces where settings allow 9",
    ),
    "byte with extras": (
        broken("byte", pieces=lambda p: [*p, "x"]),
        "there are 261 pieces where settings allow 260",
    ),
    "long piece": (
        broken("word", pieces=lambda p: swapped(p, 9, "x" * 65)),
        "pieces[9] has 65 characters",
    ),
    "char of two": (
        broken("char", pieces=lambda p: swapped(p, 9, "xy")),
        "pieces[9] has 2 characters",
    ),
    "merge of a byte": (broken("bpe", merges=[[4, 261]]), TWO_IDS),
    "merge of a special": (broken("bpe", merges=[[1, 261]]), TWO_IDS),
    "merge of true": (broken("bpe", merges=[[True, True]]), TWO_IDS),
    "merge beyond": (broken("bpe", merges=[[260, 10**30]]), TWO_IDS),
    "merge of three": (broken("bpe", merges=[[260, 261, 262]]), TWO_IDS),
    "merge to nowhere": (
        broken("bpe", merges=lambda m: [[260, 260], *m]),
        "merges[0] makes a piece that is not there",
    ),
    "merge twice": (broken("bpe", merges=lambda m: [*m, m[0]]), "the same merge appears twice"),
    "merges of words": (broken("word", merges=[[4, 5]]), "a word vocabulary has no merges"),
    "scores of bpe": (broken("bpe", scores=[0.0]), "there are 1 scores where 0 are needed"),
    "score missing": (
        broken("unigram", scores=lambda s: s[1:]),
        "there are 299 scores where 300 are needed",
    ),
    "score too good": (broken("unigram", scores=lambda s: swapped(s, 7, 0.5)), LOGARITHM),
    "score of text": (broken("unigram", scores=lambda s: swapped(s, 7, "-1")), LOGARITHM),
    "score NaN": (
        broken("unigram", scores=lambda s: swapped(s, 7, float("nan"))),
        "NaN is not a finite number",
    ),
    "deep": (
        '{"format":"regard-text","version":1,"x":' + "[" * 10**5,
        "this JSON is nested deeper than 3 levels",
    ),
    "cut": (broken("bpe")[:-40], "this is not JSON: "),
    "empty": ("", "this is not JSON: "),
}


@pytest.mark.parametrize(("text", "reason"), CASES.values(), ids=CASES.keys())
def test_broken_files(text, reason):
    with pytest.raises(ModelFileError) as fault:
        Codec.from_json(text, where="runs/x/tokenizer.json")
    assert fault.value.what.startswith(reason)
    assert fault.value.where.startswith("runs/x/tokenizer.json")
    assert fault.value.remedy


def test_a_newer_file_says_what_is_needed():
    with pytest.raises(ModelFileError) as fault:
        Codec.from_json(broken("bpe", version=2))
    assert (
        fault.value.what == "this regard-text file has version 2; this regard reads up to version 1"
    )
    assert fault.value.remedy == "install a newer regard"


def test_too_many_entries_are_counted_not_read():
    entries = '"a",' * 10**6
    with pytest.raises(ModelFileError, match="pieces has 1,000,001 entries, more than 262,144"):
        Codec.from_json(broken("word", pieces=["@"]).replace('"@"', entries + '"a"'))


def test_a_panic_of_the_library_is_a_broken_file(monkeypatch, codecs):
    class PanicException(BaseException):
        """As the library's own: not an Exception."""

    document = codecs["bpe"].to_json()
    for raised, seen in (
        (PanicException("index out of bounds"), ModelFileError),
        (ValueError("token out of vocabulary"), ModelFileError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ):

        def fail(*_, fault=raised):
            raise fault

        monkeypatch.setattr(room, "_model", fail)
        with pytest.raises(seen):
            Codec.from_json(document)
