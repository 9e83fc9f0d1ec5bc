import json
import random

import pytest
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from regard.errors import DataError
from regard.evaluate import bleu, paired

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
    assert line.endswith(f"paired bootstrap) ({ours.system_a.signature})")
    tree = json.loads(json.dumps(ours.as_dict(), allow_nan=False))
    assert tree["difference"] == ours.difference
    assert tree["system_a"]["name"] == "BLEU"


def test_systems_of_different_length_are_refused():
    with pytest.raises(DataError, match="different tests: 1 and 2 hypotheses"):
        paired(["a"], ["a", "b"], ["a"])
    with pytest.raises(DataError, match="do not pair up: 1 hypotheses, 2 references"):
        paired(["a"], ["b"], ["a", "b"])
