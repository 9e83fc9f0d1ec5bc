import random

import pytest
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF

from regard.errors import DataError, UsageError
from regard.evaluate import bleu, chrf
from regard.evaluate.translation import TOKENIZERS

WORDS = [
    "The",
    "the",
    "cat",
    "Cat",
    "sat",
    "on",
    "a",
    "mat",
    ",",
    ".",
    "dog's",
    "über",
    "3.5",
    "und-so",
]


def corpus(seed, count=41):
    """References and a system that changes a word here and there."""
    generator = random.Random(seed)
    references = [
        " ".join(generator.choices(WORDS, k=generator.randint(1, 13))) for _ in range(count)
    ]
    hypotheses = [
        " ".join(w if generator.random() < 0.8 else generator.choice(WORDS) for w in line.split())
        for line in references
    ]
    return hypotheses, references


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("tokenize", TOKENIZERS)
def test_bleu_equals_sacrebleu(tokenize, lowercase):
    hypotheses, references = corpus(1)
    theirs = BLEU(lowercase=lowercase, tokenize=tokenize)
    score = theirs.corpus_score(hypotheses, [references], n_bootstrap=1000)
    ours = bleu(hypotheses, references, lowercase=lowercase, tokenize=tokenize)
    assert ours.value == score.score
    assert ours.signature == str(theirs.get_signature())
    low, high = ours.interval
    assert (low + high) / 2 == pytest.approx(score._mean)
    assert (high - low) / 2 == pytest.approx(score._ci)


@pytest.mark.parametrize("word_order", [0, 2])
def test_chrf_equals_sacrebleu(word_order):
    hypotheses, references = corpus(2)
    theirs = CHRF(word_order=word_order)
    score = theirs.corpus_score(hypotheses, [references], n_bootstrap=1000)
    ours = chrf(hypotheses, references, word_order=word_order)
    assert (ours.name, ours.value) == (score.name, score.score)
    assert ours.signature == str(theirs.get_signature())


def test_without_interval_the_value_is_the_same_and_the_signature_says_so():
    hypotheses, references = corpus(3)
    fast = bleu(hypotheses, references, interval=False)
    assert fast.interval is None
    assert fast.value == bleu(hypotheses, references).value
    assert "bs:" not in fast.signature
    assert fast.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_two_references_are_counted_in_the_signature():
    hypotheses, first = corpus(4)
    second = corpus(5)[1]
    ours = bleu(hypotheses, [first, second], interval=False)
    assert ours.value == sacrebleu.corpus_bleu(hypotheses, [first, second]).score
    assert ours.signature.startswith("nrefs:2|")


def test_a_perfect_system_has_100():
    _, references = corpus(6)
    assert bleu(references, references).value == pytest.approx(100)
    assert chrf(references, references).value == pytest.approx(100)


def test_empty_hypotheses_score_zero_and_do_not_break():
    assert bleu(["", ""], ["a b c d", "e f g h"]).value == 0


def test_wrong_counts_and_empty_inputs_are_refused():
    with pytest.raises(DataError, match="do not pair up: 1 hypotheses, 2 references"):
        bleu(["a"], ["a", "b"])
    with pytest.raises(DataError, match="do not pair up: 1 hypotheses, 2 references"):
        bleu(["a"], [["a"], ["a", "b"]])
    with pytest.raises(DataError, match="nothing to compare: 0 hypotheses, 0 references"):
        chrf([], [])
    with pytest.raises(DataError, match="do not pair up: 1 hypotheses, 0 references"):
        chrf(["a"], [])


def test_an_unknown_tokenizer_is_a_usage_error():
    with pytest.raises(UsageError) as caught:
        bleu(["a"], ["a"], tokenize="13b")
    assert caught.value.what == "there is no BLEU tokenizer '13b'"
    assert caught.value.remedy == "did you mean '13a'?"


def test_beyond_the_limit_there_is_no_interval(monkeypatch):
    monkeypatch.setattr("regard.evaluate.translation.INTERVAL_LIMIT", 40)
    hypotheses, references = corpus(7)
    assert bleu(hypotheses, references).interval is None
    assert bleu(hypotheses[:40], references[:40]).interval is not None


def test_an_interval_over_answers_that_are_mostly_nothing():
    metric = chrf(["", "", "", "a b"], ["a", "b", "c", "a b"])
    low, high = metric.interval
    assert 0 <= low <= metric.value <= high
