import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.evaluate import (
    ClassScore,
    accuracy,
    class_scores,
    exact_match,
    macro_f1,
    token_accuracy,
)
from regard.evaluate.metric import wilson


def test_accuracy_counts_right_answers():
    metric = accuracy(["a", "b", "b", "c"], ["a", "b", "c", "c"])
    assert metric.value == 75
    assert metric.interval == wilson(3, 4)
    assert metric.signature == "n:4|ci:wilson"


def test_accuracy_takes_anything_that_can_be_equal():
    assert accuracy([(0, 2, 1), (1, 0)], [(0, 2, 1), (0, 1)]).value == 50


def test_exact_match_is_exact():
    assert exact_match(["l'oiseau", "a ", "A"], ["l'oiseau", "a", "a"]).value == pytest.approx(
        100 / 3
    )


def test_token_accuracy_is_over_tokens_not_sentences():
    metric = token_accuracy([["N", "V"], ["N"] * 6], [["V", "N"], ["N"] * 6])
    assert metric.value == 75
    assert metric.signature == "sentences:2|tokens:8|bs:1000|seed:12345"
    assert metric.interval == (0.0, 100.0)


def test_token_accuracy_refuses_sentences_of_different_length():
    with pytest.raises(DataError) as caught:
        token_accuracy([["N"], ["N", "V"]], [["N"], ["N", "V", "N"]])
    assert caught.value.what == "tags do not pair up: 2 predicted, 3 in the reference"
    assert caught.value.where == "sentence 2"
    with pytest.raises(DataError, match="the 1 sentences hold no tokens"):
        token_accuracy([[]], [[]])


def test_class_scores_by_hand():
    predicted = ["cat", "cat", "dog", "owl"]
    gold = ["cat", "dog", "dog", "dog"]
    assert class_scores(predicted, gold) == (
        ClassScore("cat", precision=50.0, recall=100.0, f1=200 / 3, support=1),
        ClassScore("dog", precision=100.0, recall=100 / 3, f1=50.0, support=3),
        ClassScore("owl", precision=0.0, recall=0.0, f1=0.0, support=0),
    )
    metric = macro_f1(predicted, gold)
    assert metric.value == pytest.approx((200 / 3 + 50 + 0) / 3)
    assert metric.signature == "n:4|classes:3|absent:0"


labels = st.sampled_from(["x", "y", "z"])


@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=30))
def test_f1_is_the_harmonic_mean_of_precision_and_recall(pairs):
    predicted, gold = map(list, zip(*pairs, strict=True))
    for score in class_scores(predicted, gold):
        right = sum(pair == (score.name, score.name) for pair in pairs)
        assert score.precision * predicted.count(score.name) == pytest.approx(100 * right)
        assert score.recall * gold.count(score.name) == pytest.approx(100 * right)
        if right:
            mean = 2 / (1 / score.precision + 1 / score.recall)
            assert score.f1 == pytest.approx(mean)
        else:
            assert score.f1 == 0


@pytest.mark.parametrize("measure", [accuracy, exact_match, macro_f1])
def test_wrong_counts_are_refused(measure):
    with pytest.raises(DataError, match=r"do not pair up: 1 .*, 2 "):
        measure(["a"], ["a", "b"])
    with pytest.raises(DataError, match=r"nothing to compare: 0 .*, 0 "):
        measure([], [])
