"""A beam as wide as the space finds what trying everything finds."""

import random

import pytest

from regard.decode import DecodeSettings, Prefix, beam
from tests.decode.tables import DECODER, ByHand, row_of, said_by, tables

ROWS = 12  # models a search


def drawn(seed, most):
    """Random settings, prefixes and a vocabulary whose outputs number at most `most`."""
    chance = random.Random(seed)
    while True:
        vocabulary, longest = chance.randint(2, 6), chance.randint(1, 5)
        outputs = sum((vocabulary - 1) ** length for length in range(longest + 1))
        if outputs <= most:
            break
    settings = DecodeSettings(
        beam=outputs,
        top_beams=min(chance.choice([1, 3, outputs]), outputs),
        penalty=("none", "average", "gnmt")[seed % 3],
        alpha=chance.choice([0.0, 0.6, 1.0, 1.7]),
        min_length=chance.randint(0, longest),
        max_length=longest,
    )
    prefixes = [
        tuple(chance.randrange(vocabulary) for _ in range(chance.choice([0, 0, 1, 3])))
        for _ in range(ROWS)
    ]
    return vocabulary, settings, prefixes


def check(seed, most):
    vocabulary, settings, prefixes = drawn(seed, most)
    encoded = tables(ROWS, vocabulary, seed)
    found, _ = beam(DECODER, encoded, settings, Prefix.of(prefixes, encoded.states.device))
    for row, hypotheses in enumerate(found):
        everything = ByHand(row_of(encoded, row), settings, prefixes[row]).everything()
        scores = {said: score for score, said in everything}
        best = [score for score, _ in everything[: settings.top_beams]]

        assert [h.score for h in hypotheses] == pytest.approx(best, abs=2e-5)
        assert len({h.tokens for h in hypotheses}) == len(hypotheses)
        for hypothesis in hypotheses:
            assert hypothesis.score == pytest.approx(scores[said_by(hypothesis)], abs=2e-5)
            assert hypothesis.tokens[: hypothesis.forced] == prefixes[row]


@pytest.mark.parametrize("seed", range(30))
def test_beam_is_exhaustive_search(seed):
    check(seed, most=150)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_beam_is_exhaustive_search_on_five_thousand_models(part):
    for seed in range(1000 + 21 * part, 1000 + 21 * (part + 1)):
        check(seed, most=4000)
