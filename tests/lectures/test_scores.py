"""L17-L24: every score of the lectures, from its formula."""

import math

import pytest
import torch

from regard.attention import Additive, Attention, Dot, Heads, Location, Softmax, align, watch
from regard.worked import score_functions

Q = torch.tensor([-0.351, 0.123, 0.435, -0.200], dtype=torch.float64)
K = torch.tensor(
    [
        [0.901, -0.651, -0.194, -0.822],
        [-0.351, 0.123, 0.435, -0.200],
        [0.081, 0.458, -0.400, 0.480],
    ],
    dtype=torch.float64,
)

FORMULAS = {
    "cosine": lambda j: Q @ K[j] / (Q.norm() * K[j].norm()),  # L17
    "additive": lambda j: torch.tanh(Q + K[j]).sum(),  # L18, with W_a = [1 1], v_a = 1
    "location": lambda j: Q[j],  # L19, with W_a = 1
    "general": lambda j: Q @ torch.eye(4) @ K[j],  # L20, with W_a = 1
    "dot": lambda j: Q @ K[j],  # L21
    "scaled-dot": lambda j: Q @ K[j] / math.sqrt(4),  # L22
}


@pytest.mark.parametrize("name", FORMULAS)
def test_score_by_its_formula(name):  # L17-L22
    scores, weights = score_functions()[name]
    expected = torch.stack([FORMULAS[name](j) for j in range(3)])
    assert torch.allclose(torch.tensor(scores), expected)
    assert torch.allclose(torch.tensor(weights), expected.softmax(0))


@pytest.mark.parametrize("name", FORMULAS)
def test_neurons_add_up_to_the_score(name):  # L87
    worked = score_functions()
    by_neuron = torch.tensor(worked[f"{name}, by neuron"])
    assert torch.allclose(by_neuron.sum(-1), torch.tensor(worked[name][0]))


def test_cosines_are_those_of_the_embedding_slide():  # L17
    scores, _ = score_functions()["cosine"]
    assert scores == pytest.approx((-0.3737, 1.0, -0.5127), abs=5e-5)


def test_additive_is_one_matrix_over_the_concatenation():  # L18
    torch.manual_seed(2)
    score = Additive(4, 4, neurons=5)
    joined = torch.cat([score.query_weight[0], score.key_weight[0]]).T  # W_a = [W U]
    expected = torch.stack(
        [score.value_weight[0] @ torch.tanh(joined @ torch.cat([Q, key])) for key in K]
    )
    assert torch.allclose(align(Q[None], K, score=score).scores[0, 0, 0], expected)


def test_location_is_blind_to_the_keys():  # L19
    torch.manual_seed(2)
    score = Location(4, max_length=3)
    weights = align(Q[None], K, score=score).weights
    assert torch.equal(weights, align(Q[None], torch.randn_like(K), score=score).weights)
    assert torch.allclose(weights[0, 0, 0], (score.weight[0] @ Q).softmax(0))


def test_scalar_queries_and_keys():  # L23
    torch.manual_seed(2)
    heads = Heads(4, 1, Attention(Dot(), Softmax()), key_width=1, bias=False)
    with watch(heads) as seen:
        heads(K[None], heads.remember(K[None]))
    q, k = (
        K @ heads.query.weight[0],
        K @ heads.key.weight[0],
    )  # d x 1 projections: one number a word
    assert torch.allclose(seen["attention"][0].scores[0, 0], torch.outer(q, k))


def test_additive_self_attention():  # L24
    score = Additive(4, 4, neurons=4)
    with torch.no_grad():
        score.query_weight[0] = score.key_weight[0] = torch.eye(4)
    found = align(K, K, score=score).scores[0, 0]
    w = score.value_weight[0]
    expected = [[w @ torch.tanh(q + k) for k in K] for q in K]
    assert torch.allclose(found, torch.stack([torch.stack(row) for row in expected]))
