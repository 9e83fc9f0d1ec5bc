"""From settings to examples: a toy or files, training or held out, with what was left out counted."""

import pytest

from regard.data.example import Pair
from regard.data.tally import Tally
from regard.errors import DataError, UsageError
from regard.run.corpus import Corpus, left_out, refuse_empty
from regard.run.settings import DataSettings


@pytest.fixture
def pairs(tmp_path):
    """A file of pairs, some of them of no use."""

    def write(*lines: str, name: str = "train.tsv") -> DataSettings:
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return DataSettings(train=(str(path),))

    return write


def test_a_toy_has_both_roles_and_a_probe():
    corpus = Corpus.of(DataSettings(toy="reverse", examples=7))
    train, valid = list(corpus.examples("train")), list(corpus.examples("valid"))
    assert corpus.task == "translate"
    assert (len(train), len(valid)) == (7, 500)
    assert not set(train) & set(valid)
    assert corpus.probe() == [Pair("r e g a r d", "d r a g e r")]
    assert corpus.fingerprint == "toy reverse"


def test_a_toy_and_files_together_and_neither_are_refused():
    with pytest.raises(UsageError, match="a toy or from files, not both"):
        Corpus.of(DataSettings(toy="reverse", train=("x.tsv",)))
    with pytest.raises(UsageError) as caught:
        Corpus.of(DataSettings())
    assert caught.value.what == "there is nothing to learn from"


def test_without_a_validation_file_some_examples_are_held_out_for_good(pairs):
    settings = pairs(*(f"a {number}\tb {number}" for number in range(1000)))
    corpus = Corpus.of(settings)
    train, valid = list(corpus.examples("train")), list(corpus.examples("valid"))
    assert len(train) + len(valid) == 1000
    assert len(valid) == 50
    assert not set(train) & set(valid)
    assert list(corpus.examples("valid")) == valid


@pytest.mark.parametrize(("count", "held"), [(1, 0), (2, 1), (9, 1), (30, 3), (700, 50)])
def test_of_few_examples_a_tenth_is_held_out_and_at_least_one(pairs, count, held):
    corpus = Corpus.of(pairs(*(f"a {number}\tb {number}" for number in range(count))))
    assert len(list(corpus.examples("valid"))) == held
    assert len(list(corpus.examples("train"))) == count - held


def test_of_many_examples_one_in_fifty_is_held_out(pairs):
    corpus = Corpus.of(pairs(*(f"a {number}\tb {number}" for number in range(10_000))))
    assert 150 < len(list(corpus.examples("valid"))) < 250


def test_a_repeated_line_is_never_on_both_sides(pairs):
    settings = pairs(*(f"a {number % 100}\tb" for number in range(1000)))
    corpus = Corpus.of(settings)
    assert not set(corpus.examples("train")) & set(corpus.examples("valid"))


def test_a_validation_file_is_taken_as_it_is(pairs, tmp_path):
    settings = pairs("a\tb", "c\td")
    held = pairs("e\tf", name="valid.tsv").train
    corpus = Corpus.of(settings.model_copy(update={"valid": held}))
    assert list(corpus.examples("train")) == [Pair("a", "b"), Pair("c", "d")]
    assert list(corpus.examples("valid")) == [Pair("e", "f")]


def test_the_fingerprint_changes_with_the_files_and_not_with_their_dates(pairs, tmp_path):
    first = Corpus.of(pairs("a\tb", "c\td")).fingerprint
    assert Corpus.of(pairs("a\tb", "c\td")).fingerprint == first
    assert Corpus.of(pairs("a\tb", "c\te")).fingerprint != first


def test_examples_of_no_use_are_counted_by_reason(pairs):  # T13
    settings = pairs("a\tb", "\td", "e\t", " \t ", f"{'x' * 70_000}\ty", "g\th")
    tally = Tally()
    corpus = Corpus.of(settings)
    kept = [*corpus.examples("train", tally)]
    assert Pair("a", "b") in kept
    told = left_out(tally)
    assert told.startswith("4 of 6 examples were left out: 3 empty (first at ")
    assert f"{settings.train[0]}:2)" in told
    assert "1 too long" in told


def test_one_is_said_in_the_singular(pairs):
    tally = Tally()
    list(Corpus.of(pairs("a\tb", "c\t")).examples("train", tally))
    assert left_out(tally).startswith("1 of 2 example was left out: 1 empty")


def test_nothing_left_says_why(pairs):  # T15
    settings = pairs("\tb", "c\t", "d\t ", f"{'x' * 70_000}\ty")
    with pytest.raises(DataError) as caught:
        refuse_empty("train", 0, Corpus.of(settings, "translate"))
    assert caught.value.what == "0 of 4 pairs left: 3 empty, 1 too long"
    assert caught.value.where == settings.train[0]
    assert caught.value.exit_code == 3


def test_a_corpus_too_small_to_hold_anything_out_says_what_to_do(pairs):  # T15
    with pytest.raises(DataError) as caught:
        refuse_empty("valid", 0, Corpus.of(pairs("a\tb")))
    assert caught.value.what == "0 valid examples are left"
    assert 'a tiny corpus needs validation files: valid="FILE"' in caught.value.remedy
