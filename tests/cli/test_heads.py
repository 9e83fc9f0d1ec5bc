"""`regard heads`: every head of every kind of model in a table, a picture and a file."""

import csv
import json

import pytest

from regard.traces.head_names import MEASURES
from tests.run import kinds

LINES = ["a b c d", "b c d e f", "c d a b", "f e d c b a"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heads")
    (folder / "data.tsv").write_text("".join(f"{line}\t{line[::-1]}\n" for line in LINES))
    return folder


@pytest.mark.parametrize(
    ("kind", "rows"), [("transformer", 18), ("rnn", 1), ("language", 6), ("learned", 18)]
)
def test_every_head_has_every_measure_of_its_kind(runs, kind, rows, tell_json):
    folder = kinds.make(runs / kind, kind)
    code, answer = tell_json("heads", folder, "--data", runs / "data.tsv")
    assert code == 0, answer
    assert len(answer["heads"]) == rows
    for head in answer["heads"]:
        assert 0 <= head["confidence"] <= 1
        assert head["entropy"] >= 0
        if head["kind"] == "encoder-self":
            assert head["distance"] is not None
        assert set(head["random"]) >= set(MEASURES)


def test_table_picture_and_files_say_the_same(runs, tell, tell_json):
    folder = kinds.make(runs / "again", "transformer")
    options = ["heads", folder, "--data", runs / "data.tsv"]
    _, answer = tell_json(*options)
    code, out, _ = tell(*options, "--sort", "entropy")
    assert code == 0
    assert "what it does" in out
    assert "encoder-self 0" in out
    assert tell(*options, "--svg", runs / "h.svg", "--csv", runs / "h.csv")[0] == 0
    assert (runs / "h.svg").read_text().count("<rect") == 18 + 1  # and the background
    rows = list(csv.DictReader((runs / "h.csv").read_text().splitlines()))
    for row, head in zip(rows, answer["heads"], strict=True):
        assert float(row["entropy"]) == pytest.approx(head["entropy"])
        assert float(row["random_entropy"]) == pytest.approx(head["random"]["entropy"])
    json.dumps(answer, allow_nan=False)


def test_choices_that_leave_nothing_are_refused(runs, tell):
    folder = kinds.make(runs / "few", "transformer")
    options = ["heads", folder, "--data", runs / "data.tsv"]
    for more in (
        ["--sort", "entropie"],
        ["--sort", "alignment", "--kind", "decoder-self"],
        ["--kind", "crosss"],
        ["--role", "nobody"],
    ):
        code, _, err = tell(*options, *more)
        assert code == 2, more
        assert "try:" in err


def test_a_model_without_attention_says_so(runs, tell):
    folder = kinds.make(runs / "tagger", "tag")
    code, _, err = tell("heads", folder, "--data", runs / "data.tsv")
    assert code == 2
    assert "no attention heads" in err


def test_position_and_content_are_measured_when_asked_for(runs, tell, tell_json):
    folder = kinds.make(runs / "shares", "transformer")
    options = ["heads", folder, "--data", runs / "data.tsv", "--position"]
    code, answer = tell_json(*options)
    assert code == 0, answer
    assert all(head["position"] is not None for head in answer["heads"] if head["kind"] == "cross")
    assert tell(*options, "--svg", runs / "p.svg")[0] == 0
    assert "share of position" in (runs / "p.svg").read_text()


@pytest.mark.parametrize("model", ["shapes", "sorter"])
def test_models_that_read_no_sentences_are_studied_by_questions_of_their_own(
    model, tell, tell_json
):
    """The sorter was asked about English sentences, and the shapes were refused."""
    code, answer = tell_json("heads", model, "--most", 5)
    assert code == 0, answer
    for head in answer["heads"]:
        assert head["entropy"] is not None
        assert bool(head["shuffled"]) == (model == "sorter")  # a picture has no words to shuffle
        assert (head["distance"] is None) == (head["kind"] in ("cross", "pointer"))
    said = {"shapes": "5 questions without words", "sorter": "5 sentences, each twice"}
    assert said[model] in tell("heads", model, "--most", 5)[2]


def test_what_needs_words_is_refused_where_there_are_none(tell):
    code, _, err = tell("heads", "digits", "--position")
    assert (code, "looking at" in err) == (2, False)
    assert "go by the words of a text, and this model reads one file (image/*)" in err


def test_one_example_names_nothing_and_says_so(tell):
    code, _, err = tell("heads", "spoken-digits")
    assert code == 0
    assert "too few to name what heads do, give --data" in err
