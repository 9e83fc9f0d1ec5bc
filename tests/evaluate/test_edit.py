from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.evaluate import character_error, edit_distance, phoneme_error, word_error


def by_recursion(first, second):
    """The definition, top down."""

    @cache
    def distance(i, j):
        if i == 0 or j == 0:
            return i + j
        return min(
            distance(i - 1, j) + 1,
            distance(i, j - 1) + 1,
            distance(i - 1, j - 1) + (first[i - 1] != second[j - 1]),
        )

    return distance(len(first), len(second))


word = st.text(alphabet="abc", max_size=9)


@given(word, word)
def test_edit_distance_equals_its_definition(first, second):
    assert edit_distance(first, second) == by_recursion(first, second)


@given(word, word, word)
def test_edit_distance_is_a_distance(first, second, third):
    assert edit_distance(first, second) == edit_distance(second, first)
    assert (edit_distance(first, second) == 0) == (first == second)
    assert edit_distance(first, third) <= edit_distance(first, second) + edit_distance(
        second, third
    )


def test_known_distances():
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance("", "abcde") == 5
    assert edit_distance((1, "1", None), (1, None)) == 1


def test_word_error_is_edits_over_all_reference_words():
    metric = word_error(["the cat sat", "hello there world"], ["the cat sat down", "hello"])
    assert metric.value == 100 * 3 / 5
    assert metric.signature == "unit:word|norm:none|n:2|words:5|bs:1000|seed:12345"
    assert not metric.higher_is_better
    low, high = metric.interval
    assert low == pytest.approx(25)
    assert high == pytest.approx(200)


def test_error_rates_by_unit():
    assert character_error(["abd e"], ["abc e"]).value == 20
    assert phoneme_error(["HH AH0 L OW1"], ["HH EH0 L OW1"]).value == 25
    assert phoneme_error(["k"], ["k"]).name == "PER"


def test_an_empty_line_costs_its_words_and_an_empty_corpus_has_no_rate():
    assert word_error(["", "x y"], ["a b", ""]).value == 200
    with pytest.raises(DataError, match="the 2 references hold no words"):
        word_error(["a", ""], ["", " "])


@pytest.mark.parametrize("measure", [word_error, character_error, phoneme_error])
def test_wrong_counts_are_refused(measure):
    with pytest.raises(DataError, match="1 hypotheses, 2 references"):
        measure(["a"], ["a", "b"])
    with pytest.raises(DataError, match="0 hypotheses, 0 references"):
        measure([], [])
