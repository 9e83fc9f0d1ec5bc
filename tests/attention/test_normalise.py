import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import (
    NORMALISERS,
    Entmax15,
    Gumbel,
    Hard,
    Proportional,
    Relu,
    Sigmoid,
    Softmax,
    Sparsemax,
    make_normaliser,
)

row_of_scores = st.lists(st.floats(-8, 8, width=32), min_size=1, max_size=11)


def rows(*numbers, dtype=torch.float64):
    return torch.tensor(numbers, dtype=dtype).view(1, 1, -1, len(numbers[0]))


def weights_of(normaliser, *numbers):
    return normaliser(rows(*numbers)).flatten(0, 2)


def close(found, *expected):
    torch.testing.assert_close(found, torch.tensor(expected, dtype=found.dtype))


def test_softmax_of_a_step_of_one():
    close(weights_of(Softmax(), [0, 1]), [1 / (1 + math.e), math.e / (1 + math.e)])


def test_sparsemax_shares_linearly_and_cuts_off():
    close(weights_of(Sparsemax(), [0, 0.5], [0, 1], [3, 0.5]), [0.25, 0.75], [0, 1], [1, 0])
    close(weights_of(Sparsemax(), [0.3, 0.3, 0.3, -1]), [1 / 3, 1 / 3, 1 / 3, 0])


def test_entmax_lies_between_and_cuts_off():
    """Two halved scores a, b: (a - tau)^2 + (b - tau)^2 = 1."""
    gap = 0.5
    low = (math.sqrt(2 - gap**2) - gap) / 2
    close(weights_of(Entmax15(), [0, 2 * gap]), [low**2, (low + gap) ** 2])
    close(weights_of(Entmax15(), [0, 2], [0, 7]), [0, 1], [0, 1])


def test_relu_and_sigmoid_look_at_each_key_alone():
    close(weights_of(Relu(), [-3, 6, 3]), [0, 2, 1])
    close(weights_of(Sigmoid(), [0, math.log(3), -100]), [1 / 4, 1 / 2, 0])


def test_proportional_shares_positive_scores():
    close(weights_of(Proportional(), [1, 3, -5], [-1, 0, -2]), [0.25, 0.75, 0], [0, 0, 0])


def test_relu_and_sigmoid_count_only_allowed_keys():
    allowed = torch.tensor([True, True, False]).view(1, 1, 1, 3)
    close(Relu()(rows([4, 2, 9]), allowed).flatten(), 2, 1, 0)
    close(Sigmoid()(rows([0, 0, 9]), allowed).flatten(), 1 / 3, 1 / 3, 0)


def test_hard_takes_the_best_and_the_first_of_equals():
    close(weights_of(Hard(), [1, 5, 2], [3, 0, 3]), [0, 1, 0], [1, 0, 0])


@pytest.mark.parametrize("normaliser", [Hard(), Gumbel().eval()], ids=["hard", "gumbel"])
def test_hard_has_the_gradient_of_softmax(normaliser):
    scores, direction = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 5, 7)
    gradients = []
    for one in (normaliser, Softmax()):
        leaf = scores.clone().requires_grad_()
        (one(leaf) * direction).sum().backward()
        gradients.append(leaf.grad)
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_gumbel_sharpens_its_gradient_by_its_temperature(temperature):
    scores, direction = torch.randn(1, 1, 5, 7), torch.randn(1, 1, 5, 7)
    hard, soft = scores.clone().requires_grad_(), scores.clone().requires_grad_()
    (Gumbel(temperature).eval()(hard) * direction).sum().backward()
    (Softmax()(soft / temperature) * direction).sum().backward()
    torch.testing.assert_close(hard.grad, soft.grad)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gumbel_draws_each_key_by_its_softmax_probability(dtype):
    draws, scores = 100_000, torch.tensor([0.0, 1.0, 2.0, -1.0, 0.5], dtype=dtype)
    allowed = torch.tensor([True, True, True, True, False]).view(1, 1, 1, 5)

    counts = Gumbel()(scores.expand(1, 1, draws, 5), allowed).float().sum((0, 1, 2))

    expected = draws * scores[:4].float().softmax(-1)
    chi_square = ((counts[:4] - expected) ** 2 / expected).sum()
    assert counts[4] == 0
    assert chi_square < 25  # three degrees of freedom exceed this once in 65,000 seeds


def test_gumbel_is_random_only_while_training():
    normaliser, scores = Gumbel(), torch.zeros(1, 1, 50, 7)
    assert normaliser.is_random
    assert not torch.equal(normaliser(scores), normaliser(scores))
    normaliser.eval()
    assert not normaliser.is_random
    assert torch.equal(normaliser(scores), Hard()(scores))


@given(row=row_of_scores, shift=st.floats(-50, 50, width=32))
@settings(max_examples=40, derandomize=True, deadline=None)
@pytest.mark.parametrize("normaliser", [Softmax(), Sparsemax(), Entmax15()], ids=str)
def test_shares_of_one_are_blind_to_a_shift_and_in_the_order_of_the_scores(normaliser, row, shift):
    scores = rows(row)
    weights = normaliser(scores)
    torch.testing.assert_close(weights, normaliser(scores + shift))
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 1, 1, dtype=torch.float64))
    ranked = weights.gather(-1, scores.argsort(-1))
    assert (ranked.diff() >= -1e-12).all()


@given(row=row_of_scores)
@settings(max_examples=40, derandomize=True, deadline=None)
def test_the_flatter_the_normaliser_the_more_keys_it_keeps(row):
    scores = rows(row)
    kept = [(normaliser(scores) > 0).sum() for normaliser in (Sparsemax(), Entmax15(), Softmax())]
    assert kept == sorted(kept)
    assert kept[2] == len(row)


@pytest.mark.parametrize("name", sorted({*NORMALISERS} - {"hard", "gumbel"}))
def test_gradients_are_those_of_finite_differences(name):
    """A hard choice has none; its gradient is softmax's, as shown above."""
    scores = torch.randn(2, 1, 3, 5, dtype=torch.float64, requires_grad=True)
    allowed = torch.rand(2, 1, 3, 5) > 0.3
    allowed[0, 0, 0] = False
    normaliser = make_normaliser(name)
    assert torch.autograd.gradcheck(normaliser, (scores, None))
    assert torch.autograd.gradcheck(normaliser, (scores, allowed))


@pytest.mark.parametrize("name", NORMALISERS)
def test_not_even_nan_leaks_from_a_masked_score(name):
    normaliser = make_normaliser(name).eval()
    scores = torch.randn(2, 3, 5, 7)
    allowed = torch.rand(2, 3, 5, 7) > 0.4
    allowed[1, 2, 3] = False
    expected = normaliser(scores, allowed)
    for void in (torch.nan, torch.inf, -torch.inf, 1e30):
        leaf = scores.masked_fill(~allowed, void).requires_grad_()
        weights = normaliser(leaf, allowed)
        assert torch.equal(weights, expected)
        assert (weights[1, 2, 3] == 0).all()
        weights.square().sum().backward()
        assert leaf.grad.isfinite().all()
        assert (leaf.grad[~allowed] == 0).all()


@pytest.mark.parametrize("name", NORMALISERS)
def test_a_row_of_nan_harms_no_other_row(name):
    normaliser = make_normaliser(name).eval()
    scores = torch.randn(1, 1, 3, 7)
    expected = normaliser(scores)
    scores[0, 0, 1] = torch.nan
    assert torch.equal(normaliser(scores)[0, 0, [0, 2]], expected[0, 0, [0, 2]])


@pytest.mark.parametrize("name", sorted({*NORMALISERS} - {"proportional"}))
def test_huge_scores_stay_finite(name):
    """Except as shares of a sum that overflows."""
    scores = torch.tensor([3e38, -3e38, 0.0, 1e30]).view(1, 1, 1, 4).requires_grad_()
    weights = make_normaliser(name).eval()(scores)
    weights.sum().backward()
    assert weights.isfinite().all()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("name", NORMALISERS)
def test_no_keys_no_weights(name):
    assert make_normaliser(name)(torch.zeros(2, 3, 5, 0)).shape == (2, 3, 5, 0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("normaliser", [Softmax(), Sparsemax(), Entmax15()], ids=str)
def test_half_precision_still_sums_to_one_over_many_keys(normaliser, dtype):
    scores = 0.2 * torch.randn(1, 1, 13, 509)
    weights = normaliser(scores.to(dtype))
    assert weights.dtype == dtype
    torch.testing.assert_close(weights.float().sum(-1), torch.ones(1, 1, 13), atol=5e-3, rtol=0)
    torch.testing.assert_close(weights.float(), normaliser(scores), atol=3e-3, rtol=0)
