"""Greedy, and drawing by shares of 0..1."""

import math

import pytest
import torch
from torch.testing import assert_close

from regard.decode import DecodeSettings, Hypothesis, Prefix, greedy, sample, search
from regard.decode.hypothesis import NOTHING
from regard.decode.sample import narrowed, pick
from regard.models import Encoded
from tests.decode.tables import DECODER, END

SHARES = torch.tensor([[0.1, 0.4, 0.2, 0.3]])


def constant(*logits, rows=1):
    """Tables that say the same after every symbol."""
    vocabulary = len(logits)
    return Encoded(torch.tensor(logits).expand(rows, vocabulary**2, vocabulary).clone())


def test_top_k_keeps_the_likeliest_and_shares_out_the_rest():
    found = narrowed(SHARES.log(), DecodeSettings(top_k=2))

    assert_close(found.exp(), torch.tensor([[0.0, 4 / 7, 0.0, 3 / 7]]))


@pytest.mark.parametrize(
    ("top_p", "kept"),
    [(0.01, [1]), (0.39, [1]), (0.41, [1, 3]), (0.95, [0, 1, 2, 3]), (1.0, [0, 1, 2, 3])],
)
def test_top_p_keeps_the_fewest_that_make_it_up(top_p, kept):
    found = narrowed(SHARES.log(), DecodeSettings(top_p=top_p))

    assert found.isfinite().nonzero()[:, 1].tolist() == kept
    assert_close(found.exp().sum(-1), torch.ones(1))


def test_of_equals_the_lower_ids_are_kept():
    found = narrowed(torch.zeros(1, 4), DecodeSettings(top_k=2))

    assert found.isfinite().tolist() == [[True, True, False, False]]


@pytest.mark.parametrize(
    ("uniform", "symbol"),
    [(0.0, 0), (0.0999, 0), (0.1001, 1), (0.4999, 1), (0.5001, 2), (0.99999, 3)],
)
def test_a_draw_falls_into_the_share_of_its_symbol(uniform, symbol):
    assert pick(SHARES.log(), torch.tensor([uniform])).tolist() == [symbol]


def test_what_has_no_share_is_never_drawn():
    found = torch.tensor([[-torch.inf, 0.0, -torch.inf]]).expand(3, -1)

    assert pick(found, torch.tensor([0.0, 0.5, 1 - 2**-24])).tolist() == [1, 1, 1]


def test_greedy_takes_the_likeliest_until_the_end():
    shares = [0.2, 0.5, 0.3]
    (found,) = greedy(DECODER, constant(*map(math.log, shares)), DecodeSettings(max_length=3))

    assert found[0].tokens == (1, 1, 1)
    assert found[0].finish == "length"
    assert found[0].log_probabilities == pytest.approx([math.log(0.5)] * 3)
    (ended,) = greedy(DECODER, constant(5.0, 0.0, 0.0), DecodeSettings(max_length=3))
    assert (ended[0].tokens, ended[0].finish) == ((), "end")
    assert len(ended[0].log_probabilities) == 1


def test_of_equals_greedy_takes_the_lower_id():
    settings = DecodeSettings(max_length=2, min_length=1)

    assert greedy(DECODER, constant(0.0, 0.0, 0.0), settings)[0][0].tokens == (1,)


def test_the_least_length_bans_the_end_until_then():
    (found,) = greedy(DECODER, constant(5.0, 0.0, 1.0), DecodeSettings(min_length=2, max_length=9))

    assert found[0].tokens == (2, 2)
    assert found[0].finish == "end"


def test_a_forced_end_is_a_symbol_like_others():
    prefix = Prefix.of([(END, 2)], torch.device("cpu"))
    (found,) = greedy(DECODER, constant(5.0, 0.0, 1.0), DecodeSettings(), prefix)

    assert found[0].tokens == (END, 2)
    assert (found[0].forced, found[0].finish, len(found[0].log_probabilities)) == (2, "end", 1)


@pytest.mark.parametrize("how", [{"beam": 1}, {"beam": 3}, {"sample": True}])
def test_numbers_that_are_none_give_nothing_and_harm_no_neighbour(how):
    settings = DecodeSettings(max_length=4, **how)
    encoded = constant(0.0, 1.0, 2.0, rows=3)
    healthy = search(DECODER, encoded, settings)
    encoded.states[1] = torch.nan
    found = search(DECODER, encoded, settings)

    assert found[1] == [NOTHING]
    assert (found[0], found[2]) == (healthy[0], healthy[2])


@pytest.mark.parametrize("how", [{"beam": 1}, {"beam": 3}, {"sample": True}])
def test_numbers_that_fail_on_the_way_give_nothing_too(how):
    """After symbol 2 the table is broken, and only 2 can come first."""
    encoded = constant(-torch.inf, -torch.inf, 0.0)
    encoded.states.view(1, 3, 3, 3)[:, :, 2] = torch.nan

    assert search(DECODER, encoded, DecodeSettings(max_length=4, **how)) == [[NOTHING]]


@pytest.mark.parametrize("how", [{"beam": 1}, {"beam": 3}, {"sample": True}])
def test_no_rows_give_no_rows(how):
    assert search(DECODER, Encoded(torch.zeros(0, 9, 3)), DecodeSettings(**how)) == []


def test_a_row_of_certain_symbols_costs_nothing():
    certain = constant(-torch.inf, 0.0, -torch.inf)
    (found,) = sample(DECODER, certain, DecodeSettings(max_length=2))

    assert found == [Hypothesis((1, 1), (0.0, 0.0), 0.0, "length")]
