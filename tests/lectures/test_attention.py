"""L25-L41, L67, L68: kinds of attention, normalisers, masks, and the six steps."""

import math

import pytest
import torch
from torch import nn

from regard.attention import (
    Attention,
    Causal,
    Heads,
    Padding,
    ScaledDot,
    Softmax,
    Strided,
    Window,
    align,
    attend,
    watch,
)
from regard.models import count_parameters
from regard.worked import painted_masks, six_steps, soft_table


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7))


def heads(width=6, num_heads=2, **options):
    torch.manual_seed(7)
    return Heads(width, num_heads, Attention(ScaledDot(), Softmax()), **options)


def test_soft_attention_has_gradients_everywhere():  # L25
    key = draw(5, 3).requires_grad_()
    attend(draw(1, 3), key, key).sum().backward()
    assert (key.grad.abs().sum(-1) > 0).all()


def test_hard_attention_chooses_one_and_still_learns():  # L26
    query, key = draw(2, 3).requires_grad_(), draw(5, 3)
    found = align(query, key, normalise="hard")
    assert torch.equal(found.weights.sort().values[..., :-1].sum(), torch.zeros(()))
    assert torch.equal(found.weights.argmax(-1), found.scores.argmax(-1))
    found.context.sum().backward()
    assert query.grad.abs().max() > 0


def test_self_and_cross_attention():  # L27, L28
    layer, one, other = heads(), draw(1, 5, 6), draw(1, 3, 6)
    with watch(layer) as seen:
        within = layer(one, layer.remember(one))
        across = layer(one, layer.remember(other))
    assert [call.weights.shape[2:] for call in seen["attention"]] == [(5, 5), (5, 3)]
    assert within.shape == across.shape == one.shape


def test_output_has_a_row_for_each_query():  # L29
    queries, inputs, d_k, d_v = 5, 7, 3, 2
    x, w_k, w_v = draw(inputs, 11), draw(11, d_k), draw(11, d_v)
    asked = draw(queries, d_k)
    out = attend(asked, x @ w_k, x @ w_v)
    assert out.shape == (queries, d_v)  # the slide prints D_v
    j = 4
    e = torch.stack([asked[j] @ (w_k.T @ x[i]) / math.sqrt(d_k) for i in range(inputs)])
    expected = sum(e.softmax(0)[i] * (w_v.T @ x[i]) for i in range(inputs))
    assert torch.allclose(out[j], expected)


def test_a_sharp_soft_table_is_an_exact_one():  # L30
    worked = soft_table()
    soft = torch.tensor(worked["soft weights"])
    assert ((soft >= 0) & (soft <= 1)).all()
    assert worked["exact weights"] == (0, 0, 0, 1, 0)
    gaps = [math.dist(row, worked["exact value"]) for row in worked["soft values"]]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-10


def test_softmax_by_its_formula():  # L32
    found = align(draw(4, 3), draw(6, 3))
    e = found.scores[0, 0]
    assert torch.allclose(found.weights[0, 0], e.exp() / e.exp().sum(-1, keepdim=True))
    assert torch.allclose(found.weights.sum(-1), torch.ones(1, 1, 4))


def test_any_other_scaling_such_as_relu():  # L33
    found = align(draw(4, 3), draw(6, 3), normalise="relu")
    assert torch.allclose(found.weights, found.scores.relu() / 6)
    assert (found.weights == 0).any()


def test_softmax_saturates_without_the_division():  # L34
    worked = six_steps()
    first, second = worked["undivided"]
    assert first == pytest.approx(0.9999999, abs=5e-8)
    assert second == pytest.approx(1.1e-7, abs=5e-9)
    divided, undivided = worked["slopes"]
    alpha = worked["softmax"][0]
    assert divided == pytest.approx(alpha * (1 - alpha))
    assert undivided == pytest.approx(second, rel=1e-5)


def test_thinking_machines():  # L67, L68
    worked = six_steps()
    assert worked["score"] == (112, 96)
    assert worked["divide"] == (14, 12)
    assert worked["softmax"] == pytest.approx((0.8808, 0.1192), abs=5e-5)
    assert [round(one, 2) for one in worked["softmax"]] == [0.88, 0.12]
    assert worked["sum"] == pytest.approx(worked["matrix form"])


def test_six_steps_of_a_readers_numbers():  # L67
    q, k, v = draw(3), draw(5, 3), draw(5, 2)
    worked = six_steps(q.tolist(), k.tolist(), v.tolist())
    z = (k @ q / math.sqrt(3)).softmax(0) @ v
    assert worked["matrix form"] == pytest.approx(z.tolist())
    weighed = torch.tensor(worked["weigh"])
    assert torch.allclose(weighed.sum(0), torch.tensor(worked["sum"]))
    products = torch.tensor(worked["products"])
    assert torch.allclose(products, q * k)


def test_masked_scores_are_minus_infinity():  # L35
    worked = painted_masks()
    added = torch.tensor(worked["M"])
    allowed = torch.tensor(worked["causal"])
    assert torch.equal(added == 0, allowed)
    assert torch.equal(added == -torch.inf, ~allowed)
    q, k, v = draw(6, 3), draw(6, 3), draw(6, 2)
    by_formula = (q @ k.T / math.sqrt(3) + added).softmax(-1) @ v
    assert torch.allclose(attend(q, k, v, mask=Causal()), by_formula)


def test_causal_weights_share_the_past_evenly():  # L36
    weights = torch.tensor(painted_masks()["causal, weights"])
    expected = torch.ones(6, 6).tril() / torch.arange(1, 7)[:, None]
    assert torch.allclose(weights, expected)


def test_padding_is_never_looked_at():  # L37
    painted = torch.tensor(painted_masks(length=4)["padding"])
    assert painted[:, :4].all()
    assert not painted[:, 4:].any()
    q, k = draw(2, 3), draw(6, 3)
    noise = torch.cat([k[:4], torch.full((2, 3), 1e30)])
    mask = Padding(torch.tensor([4]))
    assert torch.allclose(attend(q, noise, noise, mask=mask), attend(q, k[:4], k[:4]))


def test_a_range_smaller_than_the_sequence():  # L38
    painted = torch.tensor(painted_masks(window=2)["window"])
    distance = (torch.arange(6)[:, None] - torch.arange(6)).abs()
    assert torch.equal(painted, distance <= 2)


def test_a_mask_painted_by_hand():  # L35
    mine = torch.tensor([[1, 0, 1], [0, 0, 0], [1, 1, 1]])
    worked = painted_masks(
        words=("a", "b", "c"), length=3, painted=tuple(map(tuple, mine.tolist()))
    )
    assert torch.equal(torch.tensor(worked["painted"]), mine.bool())
    weights = torch.tensor(worked["painted, weights"])
    assert torch.allclose(weights, mine / mine.sum(-1, keepdim=True).clamp_min(1))


def test_sparse_linear_and_sliding_window():  # L39
    x = draw(9, 4)
    distance = (torch.arange(9)[:, None] - torch.arange(9)).abs()
    for mask, allowed in (
        (Window(2, 2), distance <= 2),
        (Strided(3), (distance < 3) | (distance % 3 == 0)),
    ):
        assert torch.equal(align(x, x, mask=mask).weights[0, 0] > 0, allowed)
    phi = nn.functional.elu(x) + 1
    linear = phi @ (phi.T @ x) / (phi @ phi.sum(0))[:, None]  # n d^2: no n x n matrix is formed
    found = attend(x, x, x, score="feature-map", normalise="proportional")
    assert torch.allclose(found, linear)


def test_a_fully_connected_layer_grows_with_the_sequence():  # L41
    width = 6
    whole = [count_parameters(nn.Linear(n * width, n * width, bias=False)) for n in (5, 10)]
    assert whole[1] == 4 * whole[0]
    layer = heads(bias=False)
    for length in (5, 10):
        x = draw(1, length, width)
        assert layer(x, layer.remember(x)).shape == x.shape
    assert count_parameters(layer) == 4 * width * width
