"""Files as people bring them: each is recognised, described in one sentence, and read as a stream."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from dataclasses import FrozenInstanceError, asdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.data.example import Labelled, Line, Pair, Pointed, Tagged
from regard.data.source import splits, understand
from regard.data.tally import Tally
from regard.errors import DataError, MissingFileError, RegardError, UsageError
from regard.tasks.names import example_of
from tests.data.kit import read, written


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Paths in messages are then as short as a person types them."""
    monkeypatch.chdir(tmp_path)


ENGLISH = "A dog.\nTwo cats.\nThree men.\n"
GERMAN = "Ein Hund.\nZwei Katzen.\nDrei Männer.\n"
PAIRS = [
    Pair("A dog.", "Ein Hund."),
    Pair("Two cats.", "Zwei Katzen."),
    Pair("Three men.", "Drei Männer."),
]


# Two files side by side


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("train.en", "train.de"),
        ("train.eng", "train.deu"),
        ("train.en.txt", "train.de.txt"),
        ("src-train.txt", "tgt-train.txt"),
        ("europarl.src", "europarl.tgt"),
        ("these.txt", "those.txt"),
        ("corpus.zh-Hans", "corpus.pt_BR"),
    ],
)
def test_parallel_files(first, second):
    description, examples, _ = read(written(first, ENGLISH), written(second, GERMAN))
    assert description == f"3 pairs: {first} (source) beside {second} (target), plain text"
    assert examples == PAIRS


@pytest.mark.parametrize(
    ("first", "second"), [("tgt-train.txt", "src-train.txt"), ("x.target", "x.source")]
)
def test_names_that_speak_of_sides_decide_them(first, second):
    _, examples, _ = read(written(first, GERMAN), written(second, ENGLISH))
    assert examples == PAIRS


def test_compressed_parallel_files():
    one = written("train.en.gz", gzip.compress(ENGLISH.encode()))
    description, examples, _ = read(one, written("train.de", GERMAN))
    assert description == (
        "3 pairs: train.en.gz (source) beside train.de (target), plain text, gzip"
    )
    assert examples == PAIRS


def test_separators_of_other_tools_do_not_shift_a_pair():
    one = written("a.en", "1\u2028\n2\x85\n3\r3\n4\x0c\n")
    _, examples, _ = read(one, written("a.de", "eins\nzwei\ndrei\nvier\n"))
    assert [pair.target for pair in examples] == ["eins", "zwei", "drei", "vier"]
    assert examples[2].source == "3\r3"


def test_faults_drop_the_pair_and_are_counted_with_their_place():
    one = written("a.en", b"1\n\n3\n4\n" + b"5" * 70_000 + b"\n6\xff\n7\n \n9\n")
    other = written("a.de", b"eins\nzwei\n\t\nvi\0er\nf\nsechs\nsieben\n\nneun\n")
    _, examples, tally = read(one, other, on_bad_utf8="skip")
    assert examples == [Pair("1", "eins"), Pair("7", "sieben"), Pair("9", "neun")]
    assert tally.dropped == {"empty": 3, "NUL byte": 1, "too long": 1, "not UTF-8": 1}
    assert tally.first == {
        "empty": "a.en:2",
        "NUL byte": "a.de:4",
        "too long": "a.en:5",
        "not UTF-8": "a.en:6",
    }
    assert tally.total == 9


def test_bad_utf8_stops_unless_told_to_skip():
    with pytest.raises(DataError, match=r"byte 0xFF is not UTF-8\na.de:2:3\n"):
        read(written("a.en", "1\n2\n"), written("a.de", b"eins\nzw\xff\n"))


def test_a_test_set_keeps_its_empty_lines():
    one, other = written("a.en", "1\n\n3\n\n"), written("a.de", "eins\nzwei\n\n\n")
    _, examples, tally = read(one, other, keep_empty=True)
    assert examples == [Pair("1", "eins"), Pair("", "zwei"), Pair("3", ""), Pair("", "")]
    assert not tally.dropped


def test_words_beside_tags_and_texts_beside_labels():
    words, tags = written("seq.in", "to Paris\nnow\n"), written("seq.out", "O B-city\nO O\n")
    description, examples, tally = read(words, tags, task="tag")
    assert description == "1 tagged sentence: seq.in (words) beside seq.out (tags), plain text"
    assert examples == [Tagged(("to", "Paris"), ("O", "B-city"))]
    assert tally.dropped == {"not one tag a word": 1}

    texts, labels = (
        written("x.one", "a good film\na bad film\nso so\n"),
        written("x.two", "1\n0\n1\n"),
    )
    expected = [Labelled("a good film", "1"), Labelled("a bad film", "0"), Labelled("so so", "1")]
    assert read(texts, labels, task="classify")[1] == expected
    assert read(labels, texts, task="classify")[1] == expected


# Tables


def test_tatoeba_takes_columns_one_and_two():
    credit = "CC-BY 2.0 (France) Attribution: tatoeba.org"
    path = written("deu.txt", f"Go.\tGeh.\t{credit}\nGo.\tGehe!\t{credit}\nHi.\tHallo!\t{credit}\n")
    description, examples, _ = read(path)
    assert description == "3 pairs: deu.txt, TSV, column 1 (source) and column 2 (target) of 3"
    assert examples == [Pair("Go.", "Geh."), Pair("Go.", "Gehe!"), Pair("Hi.", "Hallo!")]


def test_quotes_are_text_in_tsv():
    path = written("a.tsv", '"Go, he said.\t"Geh\n"\t"\nx\n\n')
    _, examples, tally = read(path)
    assert examples == [Pair('"Go, he said.', '"Geh'), Pair('"', '"')]
    assert tally.dropped == {"missing column": 1, "empty": 1}
    assert tally.first == {"missing column": "a.tsv:3", "empty": "a.tsv:4"}


def test_letters_and_phonemes():
    path = written("train.tsv", "cause\tK AH Z\ncourse\tK AO R S\ntriple\tT R IH P AH L\n")
    assert read(path)[1][0] == Pair("cause", "K AH Z")


def test_label_tab_text_is_known_by_its_few_labels():
    path = written("sst.tsv", "1\tA warm film .\n0\tDull and slow .\n1\tFunny !\n-1\tno\n" * 3)
    description, examples, _ = read(path)
    assert description == "12 labelled texts: sst.tsv, TSV, column 2 (text) and column 1 (label)"
    assert examples[0] == Labelled("A warm film .", "1")
    swapped = written("swapped.tsv", "A warm film .\tpos\nDull and slow .\tneg\nFunny !\tpos\n")
    assert read(swapped)[1][1] == Labelled("Dull and slow .", "neg")


def test_the_task_decides_what_two_columns_are():
    path = written("a.tsv", "1\tA warm film .\n0\tDull and slow .\n1\tFunny !\n")
    assert read(path, task="translate")[1][0] == Pair("1", "A warm film .")
    path = written("b.tsv", "Go now.\tGeh jetzt.\nHi you.\tHallo du.\n")
    assert read(path, task="classify")[1][0] == Labelled("Geh jetzt.", "Go now.")
    assert read(path, task="tag")[1][0] == Tagged(("Go", "now."), ("Geh", "jetzt."))
    assert read(path, task="language")[1][0] == Line("Go now.\tGeh jetzt.")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("source\ttarget", Pair("a b", "c d")),
        ("tgt\tsrc", Pair("c d", "a b")),
        ("Text\tLabel", Labelled("a b", "c d")),
        ("en\tde", Pair("a b", "c d")),
        ("English\tGerman", Pair("a b", "c d")),
        ("tokens\ttags", Tagged(("a", "b"), ("c", "d"))),
        ("text\tsummary", Pair("a b", "c d")),
    ],
)
def test_headers(header, expected):
    assert read(written("a.tsv", f"{header}\na b\tc d\n"))[1] == [expected]


def test_csv_with_quotes_line_ends_and_a_lone_carriage_return():
    content = (
        'id,text,label\n1,"He said ""no"", twice",pos\n2,"two\nlines",neg\n3,a\rb,pos\n4,"",pos\n'
    )
    description, examples, tally = read(written("a.csv", content.replace("\n", "\r\n")))
    assert (
        description
        == "3 labelled texts: a.csv, CSV, column 'text' (text) and column 'label' (label) of 3"
    )
    assert examples == [
        Labelled('He said "no", twice', "pos"),
        Labelled("two lines", "neg"),
        Labelled("a\rb", "pos"),
    ]
    assert tally.first == {"empty": "a.csv:6"}


def test_csv_with_semicolons():
    assert read(written("a.csv", "src;tgt\na, b;c\n"))[1] == [Pair("a, b", "c")]


def test_csv_with_a_quote_that_never_closes():
    path = written("a.csv", 'src,tgt\n"a","b"\n"c,d\n' + ("e,f" * 100 + "\n") * 500)
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value) == (
        "a CSV record goes wrong here: field larger than field limit (131072)\n"
        "a.csv:3\n"
        "is a closing quote missing?"
    )


def test_one_column_is_not_a_table():
    with pytest.raises(DataError) as caught:
        read(written("a.tsv", "only this\n"))
    assert str(caught.value) == (
        "the first row has one column only\n"
        "a.tsv:1\n"
        "put a tab (TSV) or a comma (CSV) between source and target, or text and label"
    )


# JSON lines


@pytest.mark.parametrize(
    ("record", "expected", "fields"),
    [
        ({"src": "a", "tgt": "b"}, Pair("a", "b"), "'src' and 'tgt'"),
        ({"id": 7, "source": "a", "target": "b"}, Pair("a", "b"), "'source' and 'target'"),
        (
            {"translation": {"en": "a", "de": "b"}},
            Pair("a", "b"),
            "'translation.en' and 'translation.de'",
        ),
        ({"text": "a\nb", "label": 3}, Labelled("a b", "3"), "'text' and 'label'"),
        (
            {"tokens": ["New York", "is"], "ner_tags": [1, 0]},
            Tagged(("New York", "is"), ("1", "0")),
            "'tokens' and 'ner_tags'",
        ),
        ({"text": "a"}, Line("a"), "'text'"),
        (
            {"items": [[1, 0.5], [0, 2]], "positions": [1, 0]},
            Pointed(((1.0, 0.5), (0.0, 2.0)), (1, 0)),
            "'items' and 'positions'",
        ),
    ],
)
def test_json_lines(record, expected, fields):
    description, examples, _ = read(written("a.jsonl", json.dumps(record) + "\n"))
    assert examples == [expected]
    assert description.endswith(f": a.jsonl, JSON lines, {fields}")


def test_json_rows_that_cannot_be_used_are_counted():
    rows = ['{"src": "a", "tgt": "b"}', '{"src": "a"}', '{"src": "a", "tgt": ""}', "",
            r'{"src": "\ud800", "tgt": "b"}', r'{"src": "a\u0000", "tgt": "b"}']  # fmt: skip
    _, examples, tally = read(written("a.jsonl", "\n".join(rows)))
    assert examples == [Pair("a", "b")]
    assert tally.dropped == {"missing field": 1, "empty": 2, "not UTF-8": 2}


def test_points_must_lie_among_the_items():
    rows = [
        {"items": [[1], [2]], "positions": [0, 1]},
        {"items": [[1], [2]], "positions": [2]},
        {"items": [[1], [2, 3]], "positions": [0]},
        {"items": ["a"], "positions": [0]},
    ]
    _, examples, tally = read(written("a.jsonl", "\n".join(map(json.dumps, rows))), task="point")
    assert examples == [Pointed(((1.0,), (2.0,)), (0, 1))]
    assert tally.first == {
        "position outside the items": "a.jsonl:2",
        "items of different widths": "a.jsonl:3",
        "not numbers": "a.jsonl:4",
    }


def test_json_errors_name_the_line():
    with pytest.raises(DataError, match=r"this line is not JSON: .*\na.jsonl:2"):
        read(written("a.jsonl", '{"src": "a", "tgt": "b"}\n{"src": \n'))
    with pytest.raises(DataError) as caught:
        read(written("b.jsonl", '{"left": "a", "right": "b"}\n'))
    assert str(caught.value) == (
        "no two fields of the first object are known: left, right\n"
        "b.jsonl:1\n"
        "name them src and tgt, text and label, or tokens and tags"
    )
    with pytest.raises(DataError) as caught:
        read(written("c.json", '[\n{"src": "a", "tgt": "b"}\n]\n'))
    assert str(caught.value) == (
        "this is not one JSON object a line\n"
        "c.json:1\n"
        "if it is one JSON array: jq -c '.[]' c.json > NEW.jsonl"
    )
    with pytest.raises(DataError, match="this line is not JSON"):
        read(written("d.jsonl", '{"src": "a", "tgt": "b"}\n{"src": ' + "[" * 50_000 + "\n"))


# One word a line

CONLL_2003 = """-DOCSTART- -X- O O

EU NNP B-NP B-ORG
rejects VBZ B-VP O
German JJ B-NP B-MISC

# NN B-NP O
Peter NNP I-NP B-PER
"""
CONLL_U = """# sent_id = 1
# text = vámonos al mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\t_\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_
2.1\tnada\tnada\tNOUN\t_\t_\t_\t_\t_\t_
3\tal\tal\tADP\t_\t_\t4\tcase\t_\t_

1\t10 000\t10\tNUM\t_\t_\t0\troot\t_\t_
"""


def test_conll_2003():
    description, examples, _ = read(written("eng.train", CONLL_2003))
    assert description == (
        "2 tagged sentences: eng.train, CoNLL-2003, first column (word), last column (tag)"
    )
    assert examples == [
        Tagged(("EU", "rejects", "German"), ("B-ORG", "O", "B-MISC")),
        Tagged(("#", "Peter"), ("O", "B-PER")),
    ]


@pytest.mark.parametrize("name", ["es-train.conllu", "es.txt"])
def test_conll_u(name):
    description, examples, _ = read(written(name, CONLL_U))
    assert description == f"2 tagged sentences: {name}, CoNLL-U, FORM and UPOS"
    assert examples == [
        Tagged(("vamos", "nos", "al"), ("VERB", "PRON", "ADP")),
        Tagged(("10 000",), ("NUM",)),
    ]


def test_two_columns_are_tags_by_their_looks_or_by_the_task():
    content = "He\tPRON\nsees\tVERB\nher\tPRON\n.\tPUNCT\n\nShe\tPRON\nruns\tVERB\n.\tPUNCT\n"
    assert read(written("a.tsv", content))[1][1] == Tagged(
        ("She", "runs", "."), ("PRON", "VERB", "PUNCT")
    )
    lower = written("b.txt", "he pron\nsees verb\n\nhim pron\n")
    assert read(lower, task="tag")[1][1] == Tagged(("him",), ("pron",))
    assert read(lower)[1][0] == Line("he pron")


def test_broken_sentences_are_dropped_whole(monkeypatch):
    monkeypatch.setattr("regard.data.formats.conll.MOST_WORDS", 100)
    content = b"a X\nb\nc X\n\nd X\ne\0 X\n\n" + b"f X\n" * 101 + b"\ng X\n"
    _, examples, tally = read(written("a.conll", content))
    assert examples == [Tagged(("g",), ("X",))]
    assert tally.dropped == {"missing column": 1, "NUL byte": 1, "too long": 1}
    assert tally.first["too long"] == "a.conll:8"


# Lines by themselves


def test_fasttext():
    content = "__label__pos good film\n__label__neg dull\n__label__a __label__b both\n"
    description, examples, tally = read(written("a.txt", content))
    assert description == "2 labelled texts: a.txt, fastText, __label__NAME text"
    assert examples == [Labelled("good film", "pos"), Labelled("dull", "neg")]
    assert tally.first == {"not in this format": "a.txt:3"}


def test_scan():
    content = "IN: jump twice OUT: I_JUMP I_JUMP\nIN: walk OUT: I_WALK\n"
    description, examples, _ = read(written("tasks_train.txt", content))
    assert description == "2 pairs: tasks_train.txt, SCAN, IN: source OUT: target"
    assert examples == [Pair("jump twice", "I_JUMP I_JUMP"), Pair("walk", "I_WALK")]


def test_plain_text_is_for_language_models():
    description, examples, tally = read(written("book.txt", "Call me.\n\nSome years ago.\n"))
    assert description == "2 lines: book.txt, plain text"
    assert examples == [Line("Call me."), Line("Some years ago.")]
    assert tally.dropped == {"empty": 1}


# Programs and memories

PO = r"""# German
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\n"

#: a.c:1
msgid "Open \"%s\"\n"
msgstr "„%s“ öffnen\n"

#, fuzzy, c-format
msgid "Close"
msgstr "Schliesen"

msgctxt "menu"
msgid ""
"two "
"parts"
msgstr ""
"zwei "
"Teile"
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] "%d Dateien"

msgid "later"
msgstr ""

#~ msgid "old"
#~ msgstr "alt"
"""


def test_gettext():
    description, examples, tally = read(written("de.po", PO))
    assert description == "4 pairs: de.po, gettext, msgid (source) and msgstr (target)"
    assert examples == [
        Pair('Open "%s"', "„%s“ öffnen"),
        Pair("two parts", "zwei Teile"),
        Pair("%d file", "%d Datei"),
        Pair("%d files", "%d Dateien"),
    ]
    assert tally.first == {"fuzzy": "de.po:10", "empty": "de.po:25"}


TMX = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="EN"><seg>A <bpt i="1">&lt;b></bpt>dog<ept i="1"/>
  &amp; a cat.</seg></tuv><tuv xml:lang="DE"><seg>Ein Hund &amp; eine Katze.</seg></tuv></tu>
<tu><tuv xml:lang="DE"><seg>Zwei.</seg></tuv><tuv xml:lang="EN"><seg>Two.</seg></tuv></tu>
<tu><tuv xml:lang="EN"><seg>Alone.</seg></tuv></tu>
</body></tmx>
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_tmx(encoding):
    description, examples, tally = read(written("memory.tmx", TMX.encode(encoding)))
    assert description == "2 pairs: memory.tmx, TMX, first (source) and second (target) segment"
    assert examples == [Pair("A dog & a cat.", "Ein Hund & eine Katze."), Pair("Two.", "Zwei.")]
    assert tally.first == {"missing segment": "memory.tmx:7"}


def test_tmx_entities_are_refused_before_they_unpack():
    bomb = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    with pytest.raises(DataError) as caught:
        read(written("bomb.tmx", bomb))
    assert str(caught.value) == (
        "the file declares the entity 'a', which could unpack to anything\n"
        "bomb.tmx:1\n"
        "export it again without a DTD"
    )
    with pytest.raises(DataError, match=r"this is not well-formed XML: mismatched tag\nbad.tmx:1"):
        read(written("bad.tmx", "<tmx><body></tmx>"))


# Folders and several files


def test_one_folder_a_label():
    written("reviews/pos/1.txt", "good\n\nfilm\n")
    written("reviews/pos/2.txt", "fine\n")
    written("reviews/neg/1.txt", "dull\n")
    written("reviews/neg/2.txt", b"x" * 1000 + b"\n" + (b"y" * 1000 + b"\n") * 70)
    description, examples, tally = read(Path("reviews"))
    assert description == "3 labelled texts: reviews, one folder a label (neg, pos)"
    assert examples == [
        Labelled("dull", "neg"),
        Labelled("good film", "pos"),
        Labelled("fine", "pos"),
    ]
    assert tally.dropped == {"too long": 1}


def test_one_file_a_label():
    written("names/Greek.txt", "Adamou\nBakas\n")
    written("names/Irish.txt", "Aodh\n")
    written("names/README.md", "about\n")
    description, examples, _ = read(Path("names"), task="classify")
    assert (
        description == "3 labelled texts: names, one file a label, one text a line (Greek, Irish)"
    )
    assert examples[2] == Labelled("Aodh", "Irish")


def test_a_folder_of_train_valid_and_test_files():
    for role in ("train", "val", "test"):
        written(f"data/{role}.de", GERMAN + "\n")
        written(f"data/{role}.en", ENGLISH + "\n")
    written("data/README.md", "about")
    found = splits([Path("data")])
    assert list(found.train.examples()) == PAIRS
    assert found.valid is not None
    assert found.valid.paths == (Path("data/val.en"), Path("data/val.de"))
    assert found.test is not None
    assert list(found.test.examples()) == [*PAIRS, Pair("", "")]
    assert understand([Path("data")]) == found.train


def test_a_folder_of_folders():
    for role in ("train", "test"):
        written(f"imdb/{role}/pos/1.txt", f"good {role}")
        written(f"imdb/{role}/neg/1.txt", f"bad {role}")
    found = splits([Path("imdb")])
    assert found.train.sample(1) == [Labelled("bad train", "neg")]
    assert found.valid is None
    assert found.test is not None
    assert found.test.sample(1) == [Labelled("bad test", "neg")]


def test_files_of_one_kind_follow_one_another():
    one = written("part-00.jsonl", '{"src": "a", "tgt": "b"}\n')
    two = written("part-01.jsonl", '{"src": "c", "tgt": "d"}\n')
    description, examples, _ = read(one, two)
    assert description == (
        "2 pairs: part-00.jsonl, JSON lines, 'src' and 'tgt'; part-01.jsonl, JSON lines, 'src' and 'tgt'"
    )
    assert examples == [Pair("a", "b"), Pair("c", "d")]
    lines = read(written("1.txt", "a\n"), written("2.txt", "b\n"), task="language")[1]
    assert lines == [Line("a"), Line("b")]


def test_folders_that_say_too_much_or_too_little():
    for language in ("cs", "de", "en"):
        written(f"data/train.{language}", ENGLISH)
    with pytest.raises(DataError) as caught:
        understand([Path("data")])
    assert str(caught.value) == (
        "the folder holds 3 files to train with: train.cs, train.de, train.en\n"
        "data\n"
        "name the one file, or the two that go together"
    )
    Path("bare").mkdir()
    with pytest.raises(DataError) as caught:
        understand([Path("bare")])
    assert str(caught.value) == (
        "no file of this folder is recognised\n"
        "bare\n"
        "name files train.*, valid.* and test.*, or make one sub-folder a label"
    )


# What cannot be read


def test_the_task_and_the_file_must_agree():
    path = written("a.conllu", CONLL_U)
    with pytest.raises(DataError) as caught:
        understand([path], Pair)
    assert str(caught.value) == (
        "the file holds tagged sentences, but this task learns from pairs\n"
        "a.conllu\n"
        "give two files (train.en train.de) or a TSV file of pairs, or name the task that learns from "
        "tagged sentences (--task)"
    )
    with pytest.raises(DataError, match="the file holds lines, but this task learns from labelled"):
        understand([written("book.txt", "Call me.\nSome years ago.\n")], Labelled)
    with pytest.raises(
        DataError, match="do not hold the same kind of examples: tagged sentences, lines"
    ):
        understand([path, Path("book.txt")])


def test_wrong_arguments():
    written("train.en", ENGLISH)
    with pytest.raises(UsageError) as caught:
        understand([Path("tran.en")])
    assert str(caught.value) == "there is no such file\ntran.en\ndid you mean train.en?"
    with pytest.raises(UsageError) as caught:
        example_of("translat")
    assert str(caught.value) == "there is no task 'translat'\ntask\ndid you mean 'translate'?"
    with pytest.raises(UsageError, match="no file was named"):
        understand([])


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"%PDF-1.4", "a PDF document"),
        (b"PK\x03\x04", "a zip archive (or an office document)"),
        (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
        (b"\x7fELF\x02\x01", "a program"),
        (bytes(range(256)), "a binary file"),
        (b"", "a binary file"),
    ],
)
def test_foreign_files_are_named(start, name):
    with pytest.raises(DataError) as caught:
        understand([written("train", start + bytes(100))])
    assert str(caught.value) == (
        f"this is {name}, not text\n"
        "train\n"
        'name a text file: one example a line, TSV, or JSON lines {"src": "...", "tgt": "..."}'
    )


@pytest.mark.parametrize(
    "text", ["SQLite is a database\n", "RIFF raff\n", "ID3 has tags\n", "a\0b\nc\n"]
)
def test_text_that_begins_like_a_foreign_file_is_text(text):
    assert understand([written("a.txt", text)]).count() >= 1


def test_an_empty_file_is_said_to_be_empty():
    with pytest.raises(DataError, match=r"the file is empty\na.tsv"):
        understand([written("a.tsv", "\n\n")])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a" * 70_000 + "\n", r"a line of over 65,536 bytes\na.tsv:1\nbreak it up"),
        ("Привет\nмир\n".encode("cp1251"), r"byte 0xCF is not UTF-8\na.tsv:1:1"),
        (b"a\0b\n", r"a line with a NUL byte\na.tsv:1\nname a text file"),
    ],
    ids=["long", "Cyrillic", "NUL"],
)
def test_a_file_without_one_usable_line_is_not_called_empty(content, told):
    with pytest.raises(DataError, match=told):
        understand([written("a.tsv", content)])


# A source is a value


def test_source_is_frozen_and_knows_its_task():
    source = understand([written("a.en", ENGLISH), written("a.de", GERMAN)])
    assert (source.kind, source.noun) == (Pair, "pair")
    assert source.paths == (Path("a.en"), Path("a.de"))
    assert source.sample(2) == PAIRS[:2]
    with pytest.raises(FrozenInstanceError):
        source.keep_empty = True


def test_reading_is_a_stream():
    path = written("a.tsv", ("word " * 300 + "\t" + "Wort " * 300 + "\n") * 1000)
    source = understand([path])
    tracemalloc.start()
    assert source.count() == 1000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 5


def test_fingerprint_sees_content_and_size_but_not_dates(tmp_path):
    path = written("a.tsv", "one\teins\n" * 300_000)
    source = understand([path])
    before = source.fingerprint()
    path.touch()
    assert source.fingerprint() == before
    content = path.read_bytes()
    for changed in (content[:-9], b"two" + content[3:], content[:-5] + b"EINS\n"):
        path.write_bytes(changed)
        assert source.fingerprint() != before
    path.unlink()
    with pytest.raises(MissingFileError, match=r"there is no such file\na.tsv"):
        source.fingerprint()


# The same six lines in every format, and any bytes at all

SIX = ["one\u2028still", "two\x85still", "th\rree", "fo\x0cur", "fi\x1cve", "six"]


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("six.txt", "{}\r\n"),
        ("six.tsv", "{}\tx y\r\n"),
        ("six.csv", "{},x y\r\n"),
        ("six.scan", "IN: {} OUT: x y\r\n"),
        ("six.fasttext", "__label__x {}\r\n"),
        ("six.conll", "{} X\r\n\r\n"),
        ("six.po", 'msgid "{}"\r\nmsgstr "x y"\r\n\r\n'),
    ],
)
def test_six_lines_are_six_examples_everywhere(name, spelling):
    path = written(name, "".join(spelling.format(text) for text in SIX))
    examples = list(understand([path]).examples())
    assert len(examples) == 6
    for text, example in zip(SIX, examples, strict=True):
        first = next(iter(asdict(example).values()))
        assert first in (text, (text,))


PIECES = ["\t", "\n", "\n\n", " ", "a", "B-X", '"', ",", ";", "{", "}", '{"src": "a", "tgt": "b"}\n',
          "__label__x y\n", "IN: a OUT: b\n", "1\ta\tb\tX\t_\t_\t_\t_\t_\t_\n", "#, fuzzy\n", 'msgid "',
          'msgstr "', "\\", "<tu>", "</tu>", "<seg>", "\r", "\0", "\ud7ff", "\u2028", "-DOCSTART-",
          "src,tgt\n", "en\tde\n", "<xliff>", "<file>", "<segment>", "<source>", "<target>", "</target>",
          "</source>", "</segment>", "1\n00:00:01,000 --> 00:00:02,500\n", "00:00:02,000 --> ", "PAR1",
          "ARROW1\0\0", "<?xml version='1.0'?>"]  # fmt: skip
NAMES = [
    "a.txt",
    "a.tsv",
    "a.csv",
    "a.jsonl",
    "a.json",
    "a.conllu",
    "a.conll",
    "a.po",
    "a.tmx",
    "a.xlf",
    "a.srt",
    "a.parquet",
    "a.arrow",
    "a.gz",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    content=st.lists(st.sampled_from(PIECES), max_size=30).map("".join).map(str.encode)
    | st.binary(max_size=60),
    name=st.sampled_from(NAMES),
    task=st.sampled_from([None, "translate", "tag", "classify", "point", "language"]),
    on_bad_utf8=st.sampled_from(["stop", "skip"]),
)
def test_any_file_is_read_or_refused_by_our_own_error(content, name, task, on_bad_utf8):
    path = written(name, content)
    tally = Tally()
    try:
        source = understand([path], example_of(task), on_bad_utf8=on_bad_utf8)
        examples = list(source.examples(tally))
    except RegardError as refusal:
        error = refusal
    else:
        assert tally.kept == len(examples)
        assert task is None or source.kind is example_of(task)
        assert source.description.startswith(f"{len(examples)} ")
        return
    assert name in error.where
