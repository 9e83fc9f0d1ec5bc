"""Beam search where the answer can be seen at a glance."""

import math

import pytest
import torch

from regard.decode import BeamTree, DecodeSettings, Prefix, beam, greedy
from regard.models import Encoded
from tests.decode.tables import BEGIN, DECODER, END, tables

CPU = torch.device("cpu")


def table(vocabulary, lines):
    """A table of the given shares after each pair (last but one, last); where none are given, the end."""
    shares = torch.zeros(vocabulary, vocabulary, vocabulary)
    shares[:, :, END] = 1.0
    for pair, after in lines.items():
        shares[pair] = torch.tensor(after)
    return Encoded(shares.flatten(0, 1).log().unsqueeze(0))


# Greedy begins with 2 (0.6), behind which nothing good comes; 3 (0.4) goes on to a certain end.
GARDEN = table(
    4,
    {
        (BEGIN, BEGIN): [0.0, 0.0, 0.6, 0.4],
        (BEGIN, 2): [0.5, 0.25, 0.25, 0.0],
        (BEGIN, 3): [1.0, 0.0, 0.0, 0.0],
    },
)
PLAIN = DecodeSettings(beam=2, top_beams=2, penalty="none", max_length=5)


def test_a_beam_of_two_escapes_the_garden_path():
    ((chosen,),) = greedy(DECODER, GARDEN, PLAIN)
    (found,), _ = beam(DECODER, GARDEN, PLAIN)

    assert (chosen.tokens, chosen.probability) == ((2,), pytest.approx(0.3))
    assert [h.tokens for h in found] == [(3,), (2,)]
    assert [h.probability for h in found] == pytest.approx([0.4, 0.3])


def test_the_tree_of_the_garden_path():
    _, (tree,) = beam(DECODER, GARDEN, PLAIN, tree=True)
    first, second = tree.steps

    assert isinstance(tree, BeamTree)
    assert [(e.parent, e.token, e.fate, e.slot) for e in first] == [
        (0, 2, "kept", 0),
        (0, 3, "kept", 1),
    ]
    assert [(e.parent, e.token, e.fate, e.slot) for e in second] == [
        (1, END, "ended", 0),
        (0, END, "ended", 1),
        (0, 1, "dropped", -1),
        (0, 2, "dropped", -1),
    ]
    assert second[2].log_probability == pytest.approx(math.log(0.25))
    assert second[2].total == pytest.approx(math.log(0.15))


def test_a_longer_output_wins_once_length_is_weighed():
    lines = {(BEGIN, BEGIN): [0.5, 0.0, 0.5], (BEGIN, 2): [0.0, 0.0, 1.0], (2, 2): [0.5, 0.0, 0.5]}
    encoded = table(3, lines)

    def winner(penalty, alpha):
        settings = DecodeSettings(beam=4, penalty=penalty, alpha=alpha, max_length=3)
        return beam(DECODER, encoded, settings)[0][0][0]

    assert winner("none", 1.0).tokens == ()
    assert winner("average", 0.0).tokens == ()
    assert winner("average", 1.0).tokens == (2, 2)
    assert winner("average", 1.0).score == pytest.approx(2 * math.log(0.5) / 3)
    assert winner("gnmt", 5.0).score == pytest.approx(2 * math.log(0.5) / (8 / 6) ** 5)


def test_a_prompt_counts_neither_in_length_nor_in_score():
    settings = DecodeSettings(beam=2, penalty="average", alpha=1.0, max_length=3)
    prompt = Prefix.of([(3, 1, 2)], CPU)
    shares = torch.full((4, 4, 4), 0.25)
    shares[1, 2] = torch.tensor([0.0, 0.0, 0.0, 1.0])
    shares[2, 3] = torch.tensor([0.5, 0.2, 0.2, 0.1])
    ((found,),), _ = beam(
        DECODER, Encoded(shares.flatten(0, 1).log().unsqueeze(0)), settings, prompt
    )

    assert found.tokens == (3, 1, 2, 3)
    assert found.forced == 3
    assert found.log_probabilities == pytest.approx([0.0, math.log(0.5)])
    assert found.score == pytest.approx(math.log(0.5) / 2)


def test_what_never_ends_stops_at_the_limit():
    shares = torch.tensor([0.0, 0.5, 0.5]).expand(1, 9, 3)
    (found,), _ = beam(
        DECODER, Encoded(shares.log()), DecodeSettings(beam=3, top_beams=3, max_length=2)
    )

    assert [h.tokens for h in found] == [(1, 1), (1, 2), (2, 1)]
    assert {h.finish for h in found} == {"length"}


def test_equals_go_by_slot_then_by_id():
    even = Encoded(torch.zeros(1, 9, 3))
    settings = DecodeSettings(beam=4, top_beams=4, penalty="none", min_length=2, max_length=3)
    (found,), _ = beam(DECODER, even, settings)

    assert [h.tokens for h in found] == [(1, 1), (1, 1, 1), (1, 1, 2), (1, 2)]


def test_a_beam_wider_than_what_there_is_returns_what_there_is():
    settings = DecodeSettings(beam=50, top_beams=50, max_length=2)
    (found,), _ = beam(DECODER, tables(1, 2, seed=1), settings)

    assert sorted(h.tokens for h in found) == [(), (1,), (1, 1)]


def test_a_search_steps_no_further_than_it_must():
    """Once a finished output cannot be beaten, the decoder rests."""
    steps = []
    lazy = type(DECODER)()

    def counted(state, tokens):
        steps.append(len(tokens))
        return type(DECODER).step(lazy, state, tokens)

    lazy.step = counted
    sure = Encoded(torch.tensor([0.97, 0.01, 0.02]).log().expand(1, 9, 3))
    beam(lazy, sure, DecodeSettings(beam=3, penalty="none", max_length=50))

    assert len(steps) == 1


def test_rows_that_are_done_leave_the_batch_in_groups():
    sizes = []
    shrinking = type(DECODER)()

    def counted(state, tokens):
        sizes.append(len(tokens))
        return type(DECODER).step(shrinking, state, tokens)

    shrinking.step = counted
    states = torch.tensor([0.97, 0.01, 0.02]).log().expand(20, 9, 3).clone()
    states[3] = torch.tensor([0.0, 0.5, 0.5]).log()
    beam(shrinking, Encoded(states), DecodeSettings(beam=2, penalty="none", max_length=4))

    assert sizes == [40, 16, 16, 16]


def test_double_precision_is_searched_in_double():
    encoded = tables(2, 4, seed=2)
    settings = DecodeSettings(beam=3, max_length=4)
    single, _ = beam(DECODER, encoded, settings)
    double, _ = beam(DECODER, Encoded(encoded.states.double()), settings)

    assert [h.tokens for (h,) in double] == [h.tokens for (h,) in single]
    assert all(h.score != torch.tensor(h.score).float().item() for (h,) in double)
