import math

import pytest
import torch

from regard.attention import (
    SCORES,
    Additive,
    Cosine,
    Dot,
    FeatureMap,
    General,
    Location,
    ScaledDot,
    make_score,
)

BATCH, HEADS, QUERIES, KEYS, WIDTH, KEY_WIDTH = 2, 3, 5, 7, 11, 13


def random(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype)


def score_of(score, query, key):
    return score(query, score.prepare(key))


def test_scaled_dot_divides_by_the_root_of_the_width():
    query, key = torch.ones(1, 1, 1, 9), torch.full((1, 1, 1, 9), 2.0)
    assert score_of(Dot(), query, key).item() == 18
    assert score_of(ScaledDot(), query, key).item() == pytest.approx(6)


def test_general_meets_keys_of_another_width():
    score = General(WIDTH, KEY_WIDTH, HEADS).double()
    query, key = random(BATCH, HEADS, QUERIES, WIDTH), random(BATCH, HEADS, KEYS, KEY_WIDTH)
    expected = torch.einsum("bhqn,hmn,bhkm->bhqk", query, score.weight, key)
    torch.testing.assert_close(score_of(score, query, key), expected)


def test_additive_has_its_own_number_of_neurons():
    score = Additive(WIDTH, KEY_WIDTH, 17, HEADS).double()
    query, key = random(BATCH, HEADS, QUERIES, WIDTH), random(BATCH, HEADS, KEYS, KEY_WIDTH)
    assert score.contributions(query, score.prepare(key)).shape == (BATCH, HEADS, QUERIES, KEYS, 17)


def test_cosine_is_sharpness_for_parallel_vectors_and_blind_to_length():
    query = torch.tensor([[[[3.0, 4.0], [-30.0, -40.0], [-4.0, 3.0], [0.0, 0.0]]]])
    key = torch.tensor([[[[0.6, 0.8]]]])
    found = score_of(Cosine(sharpness=5.0), query, key).flatten()
    torch.testing.assert_close(found, torch.tensor([5.0, -5.0, 0.0, 0.0]), atol=1e-6, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_cosine_of_a_zero_vector_is_zero_with_finite_gradients(dtype):
    query = torch.zeros(1, 1, 2, 3, dtype=dtype, requires_grad=True)
    key = torch.zeros(1, 1, 5, 3, dtype=dtype, requires_grad=True)
    scores = score_of(Cosine(), query, key)
    scores.sum().backward()
    assert (scores == 0).all()
    assert query.grad.isfinite().all()
    assert key.grad.isfinite().all()


def test_cosine_learns_its_sharpness_only_when_asked():
    assert [name for name, _ in Cosine().named_parameters()] == []
    assert [name for name, _ in Cosine(learn=True).named_parameters()] == ["log_sharpness"]


def test_location_is_blind_to_the_keys():
    score = Location(WIDTH, KEYS, HEADS).double()
    query = random(BATCH, HEADS, QUERIES, WIDTH)
    one, other = (random(BATCH, HEADS, KEYS, KEY_WIDTH) for _ in range(2))
    assert torch.equal(score_of(score, query, one), score_of(score, query, other))


def test_location_keys_have_positions():
    score = Location(WIDTH, KEYS, HEADS).double()
    key = random(BATCH, HEADS, KEYS, WIDTH)
    late = score.prepare(key[:, :, 3:5], first=3)
    assert torch.equal(late, score.prepare(key)[:, :, 3:5])


def test_location_past_its_table_is_refused(refuses):
    score = Location(WIDTH, max_length=5)
    with refuses(
        "the location score has 5 positions, and position 6 was asked for",
        "Location.max_length",
        "give it a larger max_length, or shorter sequences",
    ):
        score.prepare(torch.zeros(1, 1, 7, WIDTH))
    with refuses(
        "the location score has 5 positions, and position 5 was asked for",
        "Location.max_length",
        "give it a larger max_length, or shorter sequences",
    ):
        score.prepare(torch.zeros(1, 1, 2, WIDTH), first=4)


def test_feature_map_is_positive():
    query, key = 20 * random(1, 1, QUERIES, WIDTH), 20 * random(1, 1, KEYS, WIDTH)
    assert (score_of(FeatureMap(), query, key) > 0).all()
    zero = torch.zeros(1, 1, 1, 1)
    assert score_of(FeatureMap(), zero, zero).item() == 1


@pytest.mark.parametrize("name", SCORES)
def test_one_set_of_weights_serves_every_head(name):
    score = make_score(name, query_width=WIDTH, key_width=WIDTH, neurons=2).double()
    query, key = random(BATCH, 1, QUERIES, WIDTH), random(BATCH, 1, KEYS, WIDTH)
    together = score_of(score, query.expand(-1, HEADS, -1, -1), key.expand(-1, HEADS, -1, -1))
    torch.testing.assert_close(together, score_of(score, query, key).expand_as(together))


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("num_heads", [1, HEADS])
def test_keep_forgets_other_heads_and_leaves_shared_weights(name, num_heads):
    score = make_score(name, query_width=WIDTH, key_width=WIDTH, num_heads=num_heads).double()
    query, key = random(BATCH, HEADS, QUERIES, WIDTH), random(BATCH, HEADS, KEYS, WIDTH)
    expected = score_of(score, query, key)[:, [2, 0]]
    score.keep([2, 0])
    torch.testing.assert_close(score_of(score, query[:, [2, 0]], key[:, [2, 0]]), expected)


@pytest.mark.parametrize("name", SCORES)
def test_gradients_are_those_of_finite_differences(name):
    score = make_score(name, query_width=3, key_width=3, num_heads=2, neurons=2, max_length=3)
    score = score.double()
    query = random(1, 2, 2, 3).requires_grad_()
    key = random(1, 2, 3, 3).requires_grad_()

    def scores(query, key, *weights):
        return score_of(score, query, key)

    assert torch.autograd.gradcheck(scores, (query, key, *score.parameters()))


@pytest.mark.parametrize("name", ["general", "additive", "location"])
def test_fresh_weights_keep_unit_inputs_at_a_moderate_score(name):
    """Neither saturated nor vanishing at the start of learning."""
    score = make_score(name, query_width=97, key_width=97, max_length=101)
    scores = score_of(
        score, random(1, 1, 89, 97, dtype=torch.float32), random(1, 1, 101, 97, dtype=torch.float32)
    )
    limit = math.sqrt(97) * 1.3 if name == "general" else 1.3
    assert 0.5 < scores.std() < limit
