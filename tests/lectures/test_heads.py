"""L52-L58, L63: several heads, their parameters, and why scores are scaled."""

import math

import pytest
import torch

from regard.attention import Attention, Heads, ScaledDot, Softmax
from regard.models import count_parameters
from regard.worked import flying_arrows, parameter_count, score_variance, two_heads
from regard.worked.multi_head import WORDS
from regard.worked.worked_example import seeded


def layer(width, num_heads, **options):
    return Heads(width, num_heads, Attention(ScaledDot(), Softmax()), **options)


def test_multi_head_by_its_formula():  # L52
    torch.manual_seed(4)
    width, num_heads, d_k, d_v, keys = 6, 3, 5, 7, 4
    heads = layer(width, num_heads, key_width=d_k, value_width=d_v, bias=False)
    q, x = torch.randn(2, width), torch.randn(keys, width)
    w_q = heads.query.weight.T.unflatten(1, (num_heads, d_k))  # d_model x heads x d_k
    w_k = heads.key.weight.T.unflatten(1, (num_heads, d_k))
    w_v = heads.value.weight.T.unflatten(1, (num_heads, d_v))
    found = [
        (q @ w_q[:, h] @ (x @ w_k[:, h]).T / math.sqrt(d_k)).softmax(-1) @ (x @ w_v[:, h])
        for h in range(num_heads)
    ]
    assert heads.output.weight.T.shape == (num_heads * d_v, width)
    expected = torch.cat(found, -1) @ heads.output.weight.T
    assert torch.allclose(heads(q[None], heads.remember(x[None]))[0], expected)


def test_two_heads_word_by_word():  # L53, L57
    worked = two_heads()
    with seeded(1):
        heads = layer(4, 2, bias=False)
    joined = []
    for head in (1, 2):
        q, k, v = (
            torch.tensor(worked[f"head {head}, {part}"]) for part in ("query", "key", "value")
        )
        weights = torch.tensor(worked[f"head {head}, weights"])
        scores = torch.tensor(worked[f"head {head}, scores"])
        assert scores.shape == (4, 4)  # each alpha is one number
        for i in range(4):
            alpha = torch.stack([q[i] @ k[j] / math.sqrt(2) for j in range(4)])
            assert torch.allclose(scores[i], alpha)
            assert torch.allclose(weights[i], alpha.softmax(0))
            mixed = sum(weights[i, j] * v[j] for j in range(4))
            assert torch.allclose(torch.tensor(worked[f"head {head}, context"][i]), mixed)
        joined.append(weights @ v)
    both = torch.cat(joined, -1)
    assert torch.allclose(torch.tensor(worked["concatenated"]), both)
    words = torch.tensor(WORDS)[None]
    output = heads(words, heads.remember(words))[0]
    assert torch.allclose(torch.tensor(worked["output"]), output)
    assert [slip.lecture for slip in worked.slips] == ["L29"] + ["L57"] * 4


def test_parameter_count():  # L54, L55
    worked = parameter_count()
    assert worked["one head"] == 3 * 512 * 64
    assert worked["all heads"] == 786_432
    assert worked["output projection"] == 262_144
    assert worked["parameters"] == 4 * 512 * 512 == 1_048_576
    assert worked["with biases"] == 1_050_624
    heads = layer(512, 8)
    assert (heads.key_width, heads.value_width) == (64, 64)
    assert count_parameters(heads) == 1_050_624


def test_heads_and_widths_are_choices():  # L58
    for num_heads, d_k, d_v in ((1, 512, 512), (16, 32, 32), (3, 7, 11)):
        worked = parameter_count(num_heads=num_heads, key_width=d_k, value_width=d_v)
        assert worked["parameters"] == num_heads * 512 * (2 * d_k + 2 * d_v)


@pytest.mark.parametrize(
    ("x", "second"), [(0.0, 0.1956), (1.0, 1.0), (-2.5, 0.1956 - 2.5 * 0.8044)]
)
def test_flying_arrows(x, second):  # L56
    worked = flying_arrows(x)
    assert worked["products"] == pytest.approx((1, -1))
    assert worked["weights"] == pytest.approx((0.8044, 0.1956), abs=5e-5)
    assert worked["output"] == pytest.approx((-0.1956, second), abs=2e-4)
    printed = [slip.printed for slip in worked.slips]
    assert printed == ["flying = [0, 1, 1, 1, 0]", (0.81, 0.19)]


def test_scores_have_variance_d_k():  # L63
    widths = (1, 4, 16, 64, 256)
    worked = score_variance(widths)
    for width, mean, variance, scaled in zip(
        widths, worked["mean"], worked["variance"], worked["scaled"], strict=True
    ):
        # Four standard errors: a product of normals has fourth moment 9, which the sum tames.
        spread = math.sqrt((2 + 6 / width) / 5_000)
        assert abs(mean) < 4 * math.sqrt(width / 5_000)
        assert abs(variance / width - 1) < 4 * spread
        assert scaled == pytest.approx(variance / width)
    assert score_variance(widths) == worked  # seeded
