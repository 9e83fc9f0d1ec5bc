"""Vectors that others learned: both text forms, what is kept of them, and how wrong files are refused."""

import pytest
import torch

from regard.errors import DataError, UsageError
from regard.run.folder import Run
from regard.run.resolve import resolve
from regard.run.vectors import codecs_of, read_vectors

GLOVE = "letter 1 0 0\na 0.5 -1 2\n. . 3 3 3\nb 4 4 4\na 9 9 9\n"


def file(tmp_path, text, name="v.txt"):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("head", ["", "5 3\n"])
def test_both_forms_are_read_and_a_word_may_hold_spaces(tmp_path, head):
    width, found = read_vectors(file(tmp_path, head + GLOVE), {"a": 7, ". .": 2, "z": 1})
    assert width == 3
    assert {place: one.tolist() for place, one in found.items()} == {7: [0.5, -1, 2], 2: [3, 3, 3]}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a 1 2 x\n", "no number behind 'a'"),
        ("a 1 2 nan\n", "not finite behind 'a'"),
        ("a 1 2 3\nb 1 2\n", "3 fields, not a word and 3 numbers"),
        ("a\n", "a vector of 0 numbers"),
        ("3 99999999\n", "a vector of 99,999,999 numbers"),
        ("a " + "1 " * 70_000 + "\n", "a line that is too long"),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_line(tmp_path, text, what):
    with pytest.raises(DataError, match=what) as fault:
        read_vectors(file(tmp_path, text), {"a": 1, "b": 2})
    assert "v.txt:" in fault.value.where


def settings(path, *changes, preset="bahdanau2015", toy="copy"):
    small = ("model.encoder.width=6", "data.examples=40", f"data.vectors={path}")
    return resolve(name=preset, toy=toy, changes=[*small, *changes])


def test_a_model_begins_with_them_and_the_file_is_needed_once(tmp_path):
    path = file(tmp_path, "a 1 2 3 4 5 6\nq 0 0 0 0 0 2\nnever 1 1 1 1 1 1\n")
    run = Run.create(tmp_path / "run", settings(path, "model.reader.width=10"))
    assert run.notes[0].startswith(
        "v.txt: encoder: 2 of 30 pieces have a vector; reader is 10 wide"
    )
    path.unlink()
    run = Run.create(tmp_path / "run", run.settings)
    codec = codecs_of(run.task)["encoder"]
    table = run.build_model().encoder.embedding.table.weight
    a, q = (table[codec.encode(letter)[0]] for letter in "aq")
    factor = ((91 + 4) / 2) ** 0.5  # the root of the mean square length
    torch.testing.assert_close(a, torch.arange(1.0, 7.0) / factor)
    torch.testing.assert_close(q, torch.tensor([0.0, 0, 0, 0, 0, 2]) / factor)
    without = Run.create(tmp_path / "bare", resolve_without(run.settings)).build_model()
    others = [n for n in range(codec.size) if n not in (codec.encode("a")[0], codec.encode("q")[0])]
    assert torch.equal(table[others], without.encoder.embedding.table.weight[others])


def resolve_without(settings):
    return settings.model_copy(update={"data": settings.data.model_copy(update={"vectors": None})})


def test_a_shared_table_and_whole_words_of_subwords_have_them_too(tmp_path):
    path = file(tmp_path, "the 1 2 3 4 5 6\n")
    changes = ("model.reader.width=6", "text.kind=bpe", "text.vocabulary=500")
    run = Run.create(tmp_path / "run", settings(path, *changes, toy="phrases"))
    model = run.build_model()
    assert model.encoder.embedding.table is model.reader.embedding.table
    (the,) = run.task.source.encode("the")
    row = model.reader.embedding.table.weight[the]
    torch.testing.assert_close(row, torch.arange(1.0, 7.0) / 91**0.5)


def test_vectors_of_another_width_and_a_second_beginning_are_refused(tmp_path):
    path = file(tmp_path, "a 1 2 3\n")
    with pytest.raises(UsageError, match="have 3 numbers, and encoder is 6 wide") as fault:
        Run.create(tmp_path / "run", settings(path))
    assert "model.encoder.width=3" in fault.value.remedy
