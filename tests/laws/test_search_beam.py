"""What holds for every beam, however narrow: checked against a beam worked out in plain Python."""

import random

import pytest
import torch

from regard.decode import DecodeSettings, Prefix, beam, greedy, search
from tests.decode.tables import DECODER, ByHand, row_of, said_by, tables

CPU = torch.device("cpu")


def drawn(seed, rows):
    """Random settings, prefixes and a vocabulary; beams run from 1 to far past what there is to follow."""
    chance = random.Random(seed)
    width, longest = chance.choice([1, 2, 3, 5, 40]), chance.randint(1, 9)
    settings = DecodeSettings(
        beam=width,
        top_beams=chance.randint(1, width),
        penalty=chance.choice(["none", "average", "gnmt"]),
        alpha=chance.choice([0.0, 0.6, 1.0, 2.0]),
        min_length=chance.choice([0, 0, 2, longest]) if longest > 1 else 0,
        max_length=longest,
    )
    vocabulary = chance.randint(2, 7)
    prefixes = [
        tuple(chance.randrange(vocabulary) for _ in range(chance.choice([0, 0, 1, 4])))
        for _ in range(rows)
    ]
    return vocabulary, settings, Prefix.of(prefixes, CPU), prefixes


def outcome(hypotheses):
    return [(h.score, said_by(h)) for h in hypotheses]


@pytest.mark.parametrize("ties", [False, True], ids=["distinct", "ties"])
@pytest.mark.parametrize("seed", range(40))
def test_stopping_early_is_exact_and_ties_go_to_the_earlier_slot_then_the_lower_id(seed, ties):
    """Twenty rows finish at different times, so that they leave the batch in groups."""
    vocabulary, settings, prefix, prefixes = drawn(seed, rows=20)
    encoded = tables(20, vocabulary, seed, ties=ties)

    found, _ = beam(DECODER, encoded, settings, prefix)

    for row, hypotheses in enumerate(found):
        assert outcome(hypotheses) == ByHand(row_of(encoded, row), settings, prefixes[row]).beam()


@pytest.mark.parametrize("seed", range(40, 60))
def test_a_batch_is_its_rows(seed):
    _, settings, prefix, _ = drawn(seed, rows=11)
    encoded = tables(11, 7, seed)
    together, trees = beam(DECODER, encoded, settings, prefix, tree=True)
    for row in range(11):
        own = prefix.select(torch.tensor([row]))
        alone, tree = beam(DECODER, row_of(encoded, row), settings, own, tree=True)
        assert alone == together[row : row + 1]
        assert tree == trees[row : row + 1]


@pytest.mark.parametrize("seed", range(60, 90))
def test_hypotheses_come_best_first_without_doubles_and_say_why_they_stopped(seed):
    vocabulary, settings, prefix, _ = drawn(seed, rows=5)
    found, _ = beam(DECODER, tables(5, vocabulary, seed), settings, prefix)
    for hypotheses in found:
        scores = [h.score for h in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({said_by(h) for h in hypotheses}) == len(hypotheses) <= settings.top_beams
        for hypothesis in hypotheses:
            steps = len(hypothesis.log_probabilities)
            assert len(said_by(hypothesis)) == hypothesis.forced + steps
            assert hypothesis.finish == (
                "end" if steps < settings.max_length else hypothesis.finish
            )
            assert steps == settings.max_length or hypothesis.finish == "end"
            assert steps - (hypothesis.finish == "end") >= settings.min_length


def same_as_greedy(seed, rows=10):
    vocabulary, settings, prefix, _ = drawn(seed, rows)
    settings = settings.model_copy(update={"beam": 1, "top_beams": 1})
    encoded = tables(rows, vocabulary, seed, ties=seed % 2 == 0)

    chosen = greedy(DECODER, encoded, settings, prefix)

    assert beam(DECODER, encoded, settings, prefix)[0] == chosen
    assert search(DECODER, encoded, settings, prefix) == chosen


@pytest.mark.parametrize("seed", range(30))
def test_beam_one_is_greedy_bit_for_bit(seed):
    same_as_greedy(seed)


@pytest.mark.slow
def test_beam_one_is_greedy_bit_for_bit_on_two_thousand_models():
    for seed in range(1000, 1200):
        same_as_greedy(seed)


@pytest.mark.slow
def test_stopping_early_is_exact_on_two_thousand_models():
    for seed in range(1000, 1100):
        vocabulary, settings, prefix, prefixes = drawn(seed, rows=20)
        encoded = tables(20, vocabulary, seed, ties=seed % 2 == 0)
        found, _ = beam(DECODER, encoded, settings, prefix)
        for row, hypotheses in enumerate(found):
            by_hand = ByHand(row_of(encoded, row), settings, prefixes[row]).beam()
            assert outcome(hypotheses) == by_hand


@pytest.mark.parametrize("seed", range(12))
def test_the_tree_is_what_the_search_did(seed):
    vocabulary, settings, prefix, _ = drawn(seed, rows=3)
    encoded = tables(3, vocabulary, seed)
    plain, none = beam(DECODER, encoded, settings, prefix)
    found, trees = beam(DECODER, encoded, settings, prefix, tree=True)
    assert none is None
    assert found == plain
    for hypotheses, tree in zip(found, trees, strict=True):
        totals = {0: 0.0}  # slot -> total of what the step before left to follow
        outcomes = set()
        paths = {0: ()}
        for step in tree.steps:
            assert [e.total for e in step] == sorted((e.total for e in step), reverse=True)
            kept = [e for e in step if e.fate == "kept"]
            lived = [e for e in step if e.fate != "dropped"]
            assert {e.parent for e in step} <= set(totals)
            assert len({e.slot for e in lived}) == len(lived) <= settings.beam
            assert all((e.slot == -1) == (e.fate == "dropped") for e in step)
            assert all(e.total == pytest.approx(totals[e.parent] + e.log_probability) for e in step)
            outcomes |= {(*paths[e.parent], e.token) for e in step if e.fate == "ended"}
            paths = {e.slot: (*paths[e.parent], e.token) for e in kept}
            totals = {e.slot: e.total for e in kept}
        outcomes |= set(paths.values())
        assert {said_by(h) for h in hypotheses} <= outcomes
