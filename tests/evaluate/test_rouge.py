"""ROUGE by hand, and against the definitions written as plain loops (Lin 2004)."""

from itertools import combinations
from random import Random

import pytest

from regard.errors import DataError
from regard.evaluate import rouge
from regard.evaluate.rouge import longest_common, rouge_l, rouge_n, rouge_words, words_said

PAIRS = [
    ("police killed the gunman", "police kill the gunman"),
    ("the gunman police killed", "police killed the gunman"),
    ("the the the cat", "the cat is on the mat"),
    ("It's 3.5 km, to-day.", "its 3 5 KM today"),
    ("", "something"),
    ("a b c d e f g", "b a d c f e g"),
    ("Ünïcode wörds", "ünïcode WÖRDS"),
]


def test_by_hand():
    """Of four words three are shared; of three pairs one, `the gunman`; in order, three."""
    said, due = (rouge_words(text) for text in PAIRS[0])
    assert rouge_n(said, due, 1) == pytest.approx(0.75)
    assert rouge_n(said, due, 2) == pytest.approx(1 / 3)
    assert rouge_l(said, due) == pytest.approx(0.75)
    # Lin's own example: the same words in another order share all words, and `the gunman` or `police killed`.
    said, due = (rouge_words(text) for text in PAIRS[1])
    assert rouge_n(said, due, 1) == 1.0
    assert rouge_n(said, due, 2) == pytest.approx(2 / 3)
    assert rouge_l(said, due) == pytest.approx(0.5)
    # A word counts as often as it is due: `the` twice, `cat` once, of 4 said and 6 due.
    said, due = (rouge_words(text) for text in PAIRS[2])
    assert rouge_n(said, due, 1) == pytest.approx(2 * 3 / 10)


def test_words_are_letters_and_digits():
    assert rouge_words("It's 3.5 km, to-day_now") == ["it", "s", "3", "5", "km", "to", "day", "now"]


def plain_n(said, due, order):
    """Each n-gram of the right text crosses out one of the said ones."""
    grams = [[t[n : n + order] for n in range(len(t) - order + 1)] for t in (said, due)]
    left, right = list(grams[0]), 0
    for gram in grams[1]:
        if gram in left:
            left.remove(gram)
            right += 1
    precision = right / len(grams[0]) if grams[0] else 0
    recall = right / len(grams[1]) if grams[1] else 0
    return 2 * precision * recall / (precision + recall) if right else 0


def plain_common(one, other):
    """Every subsequence of the first, the longest first, looked for in the second."""
    for size in range(len(one), 0, -1):
        for places in combinations(range(len(one)), size):
            rest = iter(other)
            if all(any(word == one[place] for word in rest) for place in places):
                return size
    return 0


@pytest.mark.parametrize(("said", "due"), PAIRS)
def test_against_plain_loops(said, due):
    said, due = rouge_words(said), rouge_words(due)
    for order in (1, 2, 3):
        assert rouge_n(said, due, order) == pytest.approx(plain_n(said, due, order))
    assert longest_common(said, due) == longest_common(due, said) == plain_common(said, due)


def test_the_mean_over_texts_with_a_signature():
    found = rouge([said for said, _ in PAIRS], [due for _, due in PAIRS])
    assert [one.name for one in found] == ["ROUGE-1", "ROUGE-2", "ROUGE-L"]
    for one, score in zip(
        found, (lambda a, b: rouge_n(a, b, 1), lambda a, b: rouge_n(a, b, 2), rouge_l), strict=True
    ):
        values = [score(rouge_words(a), rouge_words(b)) for a, b in PAIRS]
        assert one.value == pytest.approx(100 * sum(values) / len(values))
        assert one.interval[0] <= one.value <= one.interval[1]
        assert f"n:{len(PAIRS)}" in one.signature
    with pytest.raises(DataError):
        rouge(["a"], [])


def test_words_that_were_wanted():
    found = words_said(["Ada of Bo sells 3", "Cy"], [["Ada", "Bo", "7"], ["Cy", "Cy"]], "x", "word")
    assert found.value == pytest.approx(100 * 3 / 5)
    assert words_said(["a"], [[]], "x", "word") is None


def test_against_the_usual_package():
    """`rouge-score` on random English words, punctuation and numbers; it is no dependency of ours."""
    scorer = pytest.importorskip("rouge_score.rouge_scorer")
    usual = scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=False)
    chance = Random(17)
    words = [
        "The",
        "the",
        "cat,",
        "a",
        "dog.",
        "It's",
        "3.5",
        "km",
        "to-day!",
        "mat",
        "sat",
        "on_it",
        "(or)",
        "not",
        "re-read",
    ]
    said, due = (
        [" ".join(chance.choices(words, k=chance.randint(0, 12))) for _ in range(300)]
        for _ in range(2)
    )
    found = {one.name: one.value for one in rouge(said, due)}
    scores = [usual.score(right, text) for text, right in zip(said, due, strict=True)]
    for name, own in (("rouge1", "ROUGE-1"), ("rouge2", "ROUGE-2"), ("rougeL", "ROUGE-L")):
        mean = sum(score[name].fmeasure for score in scores) / len(scores)
        assert found[own] == pytest.approx(100 * mean)
