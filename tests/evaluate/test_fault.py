import pytest

from regard.errors import DataError
from regard.evaluate import coverage, repetition


def test_repetition_counts_what_was_said_before():
    metric = repetition(["the cat the cat the cat", "a b c"], order=2)
    # Bigrams: the-cat 3 times, cat-the 2 times, and two new ones: 3 of 7 are repeats.
    assert metric.value == pytest.approx(100 * 3 / 7)
    assert metric.signature == "order:2|n:2|bs:1000|seed:12345"
    assert not metric.higher_is_better


def test_short_text_repeats_nothing():
    assert repetition(["a", ""], order=2).value == 0
    assert repetition(["a a a"], order=1).value == pytest.approx(100 * 2 / 3)


def test_coverage_clips_what_is_said_too_often():
    metric = coverage(["the the the cat", ""], ["the cat saw the mouse", "yes"])
    # the twice, cat once: 3 of 5 + 1 words.
    assert metric.value == 50
    assert coverage([""], [""]).value == 100


def test_empty_inputs_are_refused():
    with pytest.raises(DataError, match="0 hypotheses"):
        repetition([])
    with pytest.raises(DataError, match="1 hypotheses, 2 references"):
        coverage(["a"], ["a", "b"])
