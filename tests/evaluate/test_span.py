import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.evaluate import span_f1, spans


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("", set()),
        ("O O", set()),
        ("B-x", {(0, 1, "x")}),
        ("B-x I-x O B-y", {(0, 2, "x"), (3, 4, "y")}),
        ("B-x B-x", {(0, 1, "x"), (1, 2, "x")}),
        ("B-x I-y I-y", {(0, 1, "x"), (1, 3, "y")}),
        ("O I-x I-x O", {(1, 3, "x")}),
        ("I-x B-x I-x", {(0, 1, "x"), (1, 3, "x")}),
        ("B-New-York I-New-York", {(0, 2, "New-York")}),
    ],
)
def test_spans_by_hand(tags, expected):
    assert spans(tags.split()) == expected


def spans_by_search(tags):
    """Every stretch of tags that one regular expression accepts and that cannot be made longer."""
    found = set()
    for start in range(len(tags)):
        kind = tags[start][2:]
        begins = tags[start][0] == "B" or (
            tags[start][0] == "I" and (start == 0 or tags[start - 1][2:] != kind)
        )
        if begins:
            text = " ".join(tags[start + 1 :]) + " "
            inside = re.match(rf"(I-{kind} )*", text)[0].count("I-")
            found.add((start, start + 1 + inside, kind))
    return found


tag = st.sampled_from(["O", "B-x", "I-x", "B-y", "I-y"])
sentence = st.lists(tag, max_size=9)


@given(sentence)
def test_spans_against_a_search_over_all_starts(tags):
    assert spans(tags) == spans_by_search(tags)


@given(st.lists(st.lists(st.tuples(tag, tag), max_size=7), min_size=1, max_size=5))
def test_f1_is_the_harmonic_mean_over_all_sentences(sentences):
    predicted = [[guess for guess, _ in one] for one in sentences]
    gold = [[truth for _, truth in one] for one in sentences]
    guessed = {(row, span) for row, tags in enumerate(predicted) for span in spans_by_search(tags)}
    meant = {(row, span) for row, tags in enumerate(gold) for span in spans_by_search(tags)}
    value = span_f1(predicted, gold).value
    if guessed & meant:
        precision = len(guessed & meant) / len(guessed)
        recall = len(guessed & meant) / len(meant)
        assert value == pytest.approx(100 * 2 * precision * recall / (precision + recall))
    else:
        assert value == (0 if guessed | meant else 100)


def test_a_span_with_one_wrong_end_is_wrong():
    metric = span_f1([["B-x", "I-x", "O"], ["B-y"]], [["B-x", "O", "O"], ["B-y"]])
    assert metric.value == 50
    assert metric.signature == "scheme:BIO|average:micro|sentences:2|spans:2|bs:1000|seed:12345"


@pytest.mark.parametrize("odd", ["NOUN", "B", "B-", "E-x", "-x", ""])
def test_tags_outside_bio_are_refused(odd):
    with pytest.raises(DataError) as caught:
        spans(["O", odd])
    assert caught.value.what == f"'{odd}' is not a BIO tag"
    assert caught.value.where == "token 2"


def test_wrong_counts_are_refused():
    with pytest.raises(DataError, match="1 predictions, 2 sentences"):
        span_f1([["O"]], [["O"], ["O"]])
    with pytest.raises(DataError, match="1 predicted, 2 in the reference"):
        span_f1([["O"]], [["O", "O"]])
