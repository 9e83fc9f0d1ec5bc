"""The lectures' formulas as plain loops over numbers, in double precision, one index at a time."""

import math

import pytest
import torch

from regard.attention import (
    Additive,
    Attention,
    Cosine,
    Dot,
    FeatureMap,
    General,
    Heads,
    Location,
    ScaledDot,
    Softmax,
    align,
    attend,
    watch,
)

QUERIES, KEYS, WIDTH, KEY_WIDTH, NEURONS, VALUE_WIDTH = 3, 5, 7, 11, 13, 17


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(43)


def states(rows, width):
    return torch.randn(rows, width, dtype=torch.float64)


def dot(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


def product(matrix, vector):
    return [dot(row, vector) for row in matrix]


def phi(number):
    return number + 1 if number > 0 else math.exp(number)


def of_each(score, queries, keys):
    """score(s_t, h_i) for every pair, from plain lists."""
    return torch.tensor(
        [[score(s, h, i) for i, h in enumerate(keys.tolist())] for s in queries.tolist()],
        dtype=torch.float64,
    )


def case(name):
    """A score of the library, the widths it takes, and the loop that the lecture writes."""
    match name:
        case "L17 content":
            score = Cosine()
            norm = lambda v: math.sqrt(dot(v, v))  # noqa: E731
            return score, WIDTH, lambda s, h, i: dot(s, h) / (norm(s) * norm(h))
        case "L18 additive":
            score = Additive(WIDTH, KEY_WIDTH, NEURONS).double()
            joined = torch.cat([score.query_weight[0], score.key_weight[0]]).T.tolist()
            v = score.value_weight[0].tolist()
            return (
                score,
                KEY_WIDTH,
                lambda s, h, i: dot(v, [math.tanh(a) for a in product(joined, s + h)]),
            )
        case "L19 location":
            score = Location(WIDTH, KEYS).double()
            W = score.weight[0].tolist()
            return score, KEY_WIDTH, lambda s, h, i: product(W, s)[i]
        case "L20 general":
            score = General(WIDTH, KEY_WIDTH).double()
            W = score.weight[0].T.tolist()
            return score, KEY_WIDTH, lambda s, h, i: dot(s, product(W, h))
        case "L21 dot":
            return Dot(), WIDTH, lambda s, h, i: dot(s, h)
        case "L22 scaled dot":
            return ScaledDot(), WIDTH, lambda s, h, i: dot(s, h) / math.sqrt(len(h))
        case "L24 additive self-attention":
            score = Additive(WIDTH, WIDTH, WIDTH).double()
            with torch.no_grad():
                score.query_weight.copy_(torch.eye(WIDTH))
                score.key_weight.copy_(torch.eye(WIDTH))
            W = score.value_weight[0].tolist()
            return (
                score,
                WIDTH,
                lambda s, h, i: dot(W, [math.tanh(a + b) for a, b in zip(s, h, strict=True)]),
            )
        case "L39 linear":
            return (
                FeatureMap(),
                WIDTH,
                lambda s, h, i: dot([phi(a) for a in s], [phi(b) for b in h]),
            )


@pytest.mark.parametrize(
    "name",
    [
        "L17 content",
        "L18 additive",
        "L19 location",
        "L20 general",
        "L21 dot",
        "L22 scaled dot",
        "L24 additive self-attention",
        "L39 linear",
    ],
)
def test_the_score_of_the_lecture(name):
    score, key_width, formula = case(name)
    query, key, value = states(QUERIES, WIDTH), states(KEYS, key_width), states(KEYS, VALUE_WIDTH)

    scores = of_each(formula, query, key)
    aligned = align(query, key, value, score)

    torch.testing.assert_close(aligned.scores[0, 0], scores, atol=1e-10, rtol=1e-10)
    weights = [[math.exp(e) for e in row] for row in scores.tolist()]
    weights = [[number / sum(row) for number in row] for row in weights]  # L32
    context = [[dot(row, column) for column in value.T.tolist()] for row in weights]
    torch.testing.assert_close(
        attend(query, key, value, score), torch.tensor(context, dtype=torch.float64)
    )


def test_self_attention_with_one_number_a_word():
    """q = a W^q, k = a W^k with d x 1 projections, alpha_{1,2} = q^1 . k^2, and no scaling (L23)."""
    heads = Heads(WIDTH, 1, Attention(Dot(), Softmax()), key_width=1, bias=False).double()
    words = states(KEYS, WIDTH)
    with watch(heads) as seen:
        heads(words[None], heads.remember(words[None]))

    query, key = (
        [dot(a, projection.weight[0].tolist()) for a in words.tolist()]
        for projection in (heads.query, heads.key)
    )
    expected = torch.tensor([[q * k for k in key] for q in query], dtype=torch.float64)
    torch.testing.assert_close(seen.scores("attention")[0, 0], expected)


def test_the_general_layer_with_the_key_as_first_index():
    """e_{i,j} = q_j . k_i / sqrt(D_k), a = softmax of e over i, y_j = sum_i a_{i,j} v_i (L29)."""
    inputs, query = states(KEYS, WIDTH), states(QUERIES, NEURONS)
    W_k, W_v = states(WIDTH, NEURONS), states(WIDTH, VALUE_WIDTH)
    k = [product(W_k.T.tolist(), x) for x in inputs.tolist()]
    v = [product(W_v.T.tolist(), x) for x in inputs.tolist()]
    q = query.tolist()
    e = [[dot(q[j], k[i]) / math.sqrt(NEURONS) for j in range(QUERIES)] for i in range(KEYS)]
    a = [
        [math.exp(e[i][j]) / sum(math.exp(e[n][j]) for n in range(KEYS)) for j in range(QUERIES)]
        for i in range(KEYS)
    ]
    y = [
        [sum(a[i][j] * v[i][n] for i in range(KEYS)) for n in range(VALUE_WIDTH)]
        for j in range(QUERIES)
    ]

    aligned = align(query, inputs @ W_k, inputs @ W_v)

    torch.testing.assert_close(aligned.scores[0, 0].T, torch.tensor(e, dtype=torch.float64))
    torch.testing.assert_close(aligned.weights[0, 0].T, torch.tensor(a, dtype=torch.float64))
    torch.testing.assert_close(aligned.context[0, 0], torch.tensor(y, dtype=torch.float64))
    assert aligned.context[0, 0].shape == (QUERIES, VALUE_WIDTH)  # M x D_v, not D_v as printed
