"""Symbols that are given are certain, and the end waits for its turn."""

import torch
from torch.testing import assert_close

from regard.decode import Prefix
from regard.decode.candidates import ready

CPU = torch.device("cpu")
PREFIX = Prefix.of([(2, 0), (), (1,)], CPU)
END = 0


def test_beginnings_of_any_length():
    assert PREFIX.tokens.tolist() == [[2, 0], [0, 0], [1, 0]]
    assert PREFIX.lengths.tolist() == [2, 0, 1]
    assert Prefix.of([], CPU).tokens.shape == (0, 0)
    assert PREFIX.select(torch.tensor([2, 0])).lengths.tolist() == [1, 2]


def test_a_given_symbol_is_certain_and_costs_nothing():
    found, no = torch.full((3, 3), -1.0), -torch.inf

    assert PREFIX.force(found, 0).tolist() == [[no, no, 0.0], [-1.0] * 3, [no, 0.0, no]]
    assert PREFIX.force(found, 1).tolist() == [[0.0, no, no], [-1.0] * 3, [-1.0] * 3]
    assert PREFIX.force(found, 2) is found


def logged(logits, allowed=True):
    return ready(torch.tensor([logits]), end=END, ended_allowed=torch.tensor([allowed]))[0]


def test_logits_become_log_probabilities():
    assert_close(logged([0.0, 0.0, 0.0]).exp(), torch.full((3,), 1 / 3))
    assert logged([1.0, -torch.inf, 2.0])[1] == -torch.inf


def test_the_end_is_banned_where_it_comes_too_soon_unless_nothing_else_is_left():
    early, free = logged([3.0, 1.0, 2.0], allowed=False), logged([3.0, 1.0, 2.0])

    assert early[END] == -torch.inf
    assert torch.equal(early[1:], free[1:])
    alone = logged([3.0, -torch.inf, -torch.inf], allowed=False)
    assert alone.tolist() == [0.0, -torch.inf, -torch.inf]


def test_what_is_no_number_is_impossible():
    for broken in ([torch.nan, 0.0, 1.0], [torch.inf, 0.0, 1.0], [-torch.inf] * 3):
        assert (logged(broken) == -torch.inf).all()


def test_half_precision_is_logged_in_single():
    half = torch.tensor([[0.0, 1.0, 2.0]], dtype=torch.bfloat16)
    allowed = torch.tensor([True])

    assert ready(half, end=END, ended_allowed=allowed).dtype == torch.float32
    assert ready(half.double(), end=END, ended_allowed=allowed).dtype == torch.float64
