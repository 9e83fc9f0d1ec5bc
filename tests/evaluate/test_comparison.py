"""Paired tests: against sacrebleu, against the exact binomial, and where the answer is known."""

import json
import random
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from regard.errors import DataError
from regard.evaluate import bleu, exact_match, paired
from regard.evaluate.comparison import SWAPS, paired_counts

WORDS = ["one", "two", "three", "four", "five", "six", "seven"]


def spoil(lines, share, seed):
    """A system that gets each word wrong with probability `share`."""
    generator = random.Random(seed)
    return [
        " ".join(w if generator.random() > share else generator.choice(WORDS) for w in line.split())
        for line in lines
    ]


@pytest.fixture
def references():
    generator = random.Random(0)
    return [" ".join(generator.choices(WORDS, k=generator.randint(5, 11))) for _ in range(59)]


@pytest.mark.parametrize(("test", "kind"), [("bootstrap", "bs"), ("randomisation", "ar")])
@pytest.mark.parametrize(("metric", "measure"), [("bleu", BLEU), ("chrf", CHRF)])
def test_the_comparison_equals_sacrebleu(references, test, kind, metric, measure):
    a, b = spoil(references, 0.3, 1), spoil(references, 0.25, 2)
    signatures, scores = PairedTest(
        [("a", a), ("b", b)], {"M": measure()}, [references], test_type=kind, n_samples=211
    )()
    name = next(key for key in scores if key != "System")
    ours = paired(a, b, references, metric=metric, test=test, samples=211)
    assert (ours.system_a.value, ours.system_b.value) == tuple(one.score for one in scores[name])
    assert ours.p_value == scores[name][1].p_value
    assert ours.system_a.signature == str(signatures[name])
    assert f"{kind}:211" in ours.system_b.signature


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
def test_a_much_better_system_is_significant_and_the_same_system_is_not(references, test):
    worse, better = spoil(references, 0.6, 1), spoil(references, 0.1, 2)
    ours = paired(worse, better, references, test=test, samples=499)
    assert ours.significant
    assert ours.difference > 10
    assert ours.system_b.value == bleu(better, references).value
    same = paired(worse, list(worse), references, test=test, samples=499)
    assert same.difference == 0
    assert same.p_value == 1


def test_a_comparison_prints_itself_and_goes_to_json(references):
    ours = paired(references, spoil(references, 0.2, 3), references, samples=101)
    line = str(ours)
    assert line.startswith(
        f"BLEU 100.00 -> {ours.system_b.value:.2f} ({ours.difference:+.2f}, p = "
    )
    assert line.endswith(f"paired randomisation) ({ours.system_a.signature})")
    tree = json.loads(json.dumps(ours.as_dict(), allow_nan=False))
    assert tree["difference"] == ours.difference
    assert tree["system_a"]["name"] == "BLEU"


def test_systems_of_different_length_are_refused():
    with pytest.raises(DataError, match="different tests: 1 and 2 hypotheses"):
        paired(["a"], ["a", "b"], ["a"])
    with pytest.raises(DataError, match="do not pair up: 1 hypotheses, 2 references"):
        paired(["a"], ["b"], ["a", "b"])


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
@pytest.mark.parametrize("lucky", [0, 1, 2, 4])
def test_a_few_lucky_sentences_among_zeros_are_luck(metric, lucky):
    """With n sentences that differ, no fewer than 2 of 2^n swaps look as they do: p is at least 2 / 2^n."""
    references = [f"{word} two three four five" for word in WORDS * 9]
    nothing = ["x y z"] * len(references)
    some = references[:lucky] + nothing[lucky:]
    ours = paired(nothing, some, references, metric=metric, samples=499)
    assert ours.p_value == pytest.approx(1.0 if lucky == 0 else 2 / 2**lucky, abs=0.07)
    assert not ours.significant
    assert paired(some, nothing, references, metric=metric, samples=499).p_value == ours.p_value


METRIC = exact_match(["a"], ["a"])


def p_value(right_a, right_b):
    return paired_counts(METRIC, METRIC, right_a, right_b).p_value


@settings(deadline=None, max_examples=40)
@given(wins=st.integers(0, 15), losses=st.integers(0, 15), ties=st.integers(1, 5))
def test_for_right_and_wrong_it_is_the_sign_test(wins, losses, ties):
    """Swapping pairs that disagree is tossing a coin for each, so chances are binomial."""
    right_a = [0] * wins + [1] * losses + [1] * ties
    right_b = [1] * wins + [0] * losses + [1] * ties
    tosses, observed = wins + losses, abs(wins - losses)
    exact = sum(comb(tosses, k) for k in range(tosses + 1) if abs(2 * k - tosses) >= observed)
    assert p_value(right_a, right_b) == pytest.approx(exact / 2**tosses, abs=0.025)


def test_equal_systems_differ_by_luck_alone():
    assert p_value([3, 0, 2], [3, 0, 2]) == 1.0


def test_a_clear_winner_is_no_luck():
    found = paired_counts(METRIC, METRIC, [0] * 40, [1] * 40)
    assert found.p_value == 1 / (SWAPS + 1)
    assert found.significant
    assert found.test == "randomisation"


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20))
def test_either_may_come_first(pairs):
    right_a, right_b = zip(*pairs, strict=True)
    assert p_value(right_a, right_b) == p_value(right_b, right_a)


def test_different_tests_cannot_be_compared():
    with pytest.raises(DataError, match="do not pair up"):
        p_value([1], [1, 0])
