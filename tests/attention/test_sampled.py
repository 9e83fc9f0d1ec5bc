"""Sampled attention: keys drawn by softmax, no gradient through the draw, the best key when answering."""

import pytest
import torch
from torch.testing import assert_close

from regard.attention import Attention, Hard, Padding, Sampled, Softmax, make_normaliser, watch
from regard.errors import UsageError

KEYS = 5


def scores_of(*shape: int) -> torch.Tensor:
    torch.manual_seed(5)
    return torch.randn(*shape, dtype=torch.float64)


def test_keys_are_drawn_as_often_as_softmax_says():
    """Over 100,000 draws, each share within 4 standard errors: sqrt(p (1 - p) / n)."""
    row, draws = scores_of(KEYS), 100_000
    torch.manual_seed(11)
    weights = Sampled()(row.expand(draws, 1, 1, KEYS))
    chances = row.softmax(-1)
    assert ((weights == 1).sum(-1) == 1).all()
    error = (chances * (1 - chances) / draws).sqrt()
    assert ((weights.mean(0).flatten() - chances).abs() < 4 * error).all()


def test_masked_keys_are_never_drawn_and_a_blind_query_draws_nothing():
    scores = scores_of(2000, 1, 2, KEYS)
    allowed = torch.tensor([[False, True, True, False, True], [False] * KEYS]).view(1, 1, 2, KEYS)
    weights = Sampled()(scores.masked_fill(~allowed, torch.nan), allowed)
    assert (weights[:, :, 0].sum(-1) == 1).all()
    assert (weights[:, :, 0, [0, 3]] == 0).all()
    assert (weights[:, :, 1] == 0).all()


def test_a_model_that_answers_takes_the_likeliest_key():
    scores = scores_of(3, 2, 4, KEYS)
    allowed = torch.rand(3, 2, 4, KEYS) > 0.4
    sampled = Sampled().eval()
    assert not sampled.is_random
    assert torch.equal(sampled(scores, allowed), Hard()(scores, allowed))


def test_no_gradient_passes_the_choice():
    scores = scores_of(2, 1, 3, KEYS).requires_grad_()
    assert not Sampled()(scores).requires_grad


def test_log_chance_is_that_of_the_chosen_key_and_has_its_gradient():
    scores = scores_of(2, 1, 3, KEYS)
    scores[0, 0, 1, 2:] = -torch.inf  # masked
    scores[1, 0, 2] = -torch.inf  # blind
    scores.requires_grad_()
    allowed = scores.detach().isfinite()
    weights = Sampled()(scores, allowed)
    found = Sampled.log_chance(scores, weights)
    for row, query in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]:
        wanted = scores[row, 0, query].softmax(-1)[weights[row, 0, query].argmax()].log()
        assert_close(found[row, 0, query], wanted)
    assert found[1, 0, 2] == 0
    found.sum().backward()
    # d ln p_c / d e_j = [j = c] - p_j
    wanted = weights - Softmax()(scores.detach(), allowed)
    assert_close(scores.grad, wanted)


@pytest.mark.parametrize("name", ["hard", "gumbel", "sampled"])
def test_what_is_chosen_from_is_the_softmax(name):
    scores = scores_of(2, 1, 3, KEYS)
    allowed = torch.rand(2, 1, 3, KEYS) > 0.3
    own = make_normaliser(name)
    assert_close(own.chances(scores, allowed), Softmax()(scores, allowed))


def test_watched_is_unwatched_by_the_same_draws():
    attention = Attention("dot", "sampled")
    query, key = torch.randn(3, 1, 4, 6), torch.randn(3, 1, 7, 6)
    memory = attention.remember(key, key, Padding(torch.tensor([7, 3, 5])))
    torch.manual_seed(2)
    free = attention(query, memory)
    torch.manual_seed(2)
    with watch(attention) as seen:
        watched = attention(query, memory)
    assert torch.equal(free, watched)
    assert_close(seen.weights("") @ memory.value, watched)
    assert_close(seen.chances("")[1, ..., 3:], torch.zeros(1, 4, 4))


def test_the_baseline_is_saved_and_loaded():
    one, other = Sampled(), Sampled()
    one.baseline.fill_(-1.25)
    other.load_state_dict(one.state_dict())
    assert other.baseline == -1.25


def test_a_share_of_the_queries_reads_softly_and_makes_no_choice():
    scores = scores_of(20_000, 1, 1, KEYS).requires_grad_()
    torch.manual_seed(7)
    weights = Sampled(soft_share=0.3)(scores)
    softly = weights.amax(-1) < 1
    assert abs(softly.double().mean() - 0.3) < 4 * (0.3 * 0.7 / 20_000) ** 0.5
    assert_close(weights[softly], scores.softmax(-1)[softly])
    assert (Sampled.log_chance(scores, weights)[softly] == 0).all()
    assert (Sampled.log_chance(scores, weights)[~softly] < 0).all()
    assert torch.equal(Sampled(0.3).eval()(scores), Hard()(scores))
    with pytest.raises(UsageError, match="from 0 to below 1"):
        Sampled(1.0)
