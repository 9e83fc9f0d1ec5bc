"""Heads by hand: one that takes some dimensions, two side by side, and how many numbers they learn."""

from __future__ import annotations

import math

import torch

from regard.attention import Attention, Heads, ScaledDot, Softmax, watch
from regard.models import count_parameters
from regard.worked.worked_example import (
    Number,
    Numbers,
    Slip,
    Step,
    Table,
    Worked,
    matrix,
    numbered,
    plain,
    positive,
    seeded,
    vector,
)

ARROW_SLIPS = (
    Slip(
        "L56",
        "value",
        "flying = [0, 1, 1, 1, 0]",
        "flying = [0, 1, 1, 1, 0, x]",
        "A word has six numbers, two each for query, key and value; flying's last one is missing. It is x "
        "here.",
    ),
    Slip(
        "L56",
        "weights",
        (0.81, 0.19),
        (0.8044, 0.1956),
        "exp(1/sqrt 2) is 2.0281 and exp(-1/sqrt 2) is 0.4931; the first has 0.8044 of their sum.",
    ),
)


def flying_arrows(
    x: Number = 0.0,
    flying: Numbers = (0.0, 1.0, 1.0, 1.0, 0.0),
    arrows: Numbers = (1.0, 1.0, 0.0, -1.0, -1.0, 1.0),
) -> Worked:
    """What flying reads from flying and arrows; x is the number that the slide leaves out."""
    words = torch.stack([vector("flying", (*flying, x), 6), vector("arrows", arrows, 6)])
    with seeded(0):
        heads = Heads(6, 1, Attention(ScaledDot(), Softmax()), key_width=2, bias=False).double()
    with torch.no_grad(), watch(heads) as seen:
        for n, projection in enumerate((heads.query, heads.key, heads.value)):
            projection.weight.copy_(torch.eye(6)[2 * n : 2 * n + 2])
        heads.output.weight.copy_(torch.eye(6, 2))
        output = heads(words[None], heads.remember(words[None]))[0, 0, :2]
    (aligned,) = seen["attention"]
    names = ("flying", "arrows")
    scores, weights = aligned.scores[0, 0, 0], aligned.weights[0, 0, 0]
    share = float(weights[0])
    return Worked(
        formula="softmax(q . k / sqrt(d_k)) v,  q, k, v = dimensions 1-2, 3-4, 5-6",
        given=(
            Step("words", "six numbers each", plain(words), rows=names),
            Step("x", "flying's last number", float(x)),
        ),
        steps=(
            Step("query", "q_1: flying asks", plain(aligned.query[0, 0, 0])),
            Step("keys", "k_j", plain(aligned.memory.key[0, 0]), rows=names),
            Step("value", "v_j", plain(aligned.memory.value[0, 0]), rows=names),
            Step("products", "q_1 . k_j", plain(scores * math.sqrt(2)), columns=names),
            Step("scores", "q_1 . k_j / sqrt(2)", plain(scores), columns=names),
            Step("weights", "softmax", plain(weights), columns=names),
        ),
        result=Step(
            "output",
            "z_1 = sum_j alpha_j v_j",
            plain(output),
            note=f"Its second number is {1 - share:.4f} v + {share:.4f} x, v being that of arrows.",
        ),
        slips=ARROW_SLIPS,
    )


# Two heads side by side, from the words to the output, with every shape right (L29, L52, L53, L57).

CONCATENATION_SLIPS = (
    Slip(
        "L29",
        "output",
        "y of shape D_v",
        "y of shape M x D_v",
        "There is one output for each of the M queries.",
    ),
    Slip(
        "L57",
        "head 1, scores",
        "alpha_{1,1} of shape 1 x M",
        "alpha_{1,1} is one number",
        "A dot product of two rows of M numbers is a single number, so A is N x N.",
    ),
    Slip(
        "L57",
        "head 1, context",
        "b^1 = A' v^1",
        "b^1 = sum_i alpha'_{1,i} v^i",
        "The first word's output mixes the values of all words by the first word's weights.",
    ),
    Slip(
        "L57",
        "head 1, weights",
        "O = <V, A>",
        "O = A' V",
        "Values are mixed by the weights A', after the softmax, not by the scores A.",
    ),
    Slip(
        "L57",
        "concatenated",
        "b is a vector of attention scores",
        "b is the outputs",
        "Scores say how much to read; b is what was read.",
    ),
)

WORDS = (
    (1.0, 0.0, 1.0, 0.0),
    (0.0, 2.0, 0.0, 2.0),
    (1.0, 1.0, 1.0, 1.0),
    (0.0, 1.0, 0.0, -1.0),
)


def two_heads(words: Table = WORDS, num_heads: int = 2, seed: int = 1) -> Worked:
    """Queries, keys and values of each head, its scores, weights and context; then all heads joined.

    The projections are drawn, not learned.
    """
    states = matrix("words", words)
    with seeded(seed):
        heads = Heads(
            states.shape[1], num_heads, Attention(ScaledDot(), Softmax()), bias=False
        ).double()
    with torch.no_grad(), watch(heads) as seen:
        output = heads(states[None], heads.remember(states[None]))[0]
    (aligned,) = seen["attention"]
    labels = numbered("a_", len(states))
    steps = []
    for head in range(num_heads):
        name = f"head {head + 1}"
        parts = (
            ("query", f"q^{head + 1} = a W^Q{head + 1}", aligned.query),
            ("key", f"k^{head + 1} = a W^K{head + 1}", aligned.memory.key),
            ("value", f"v^{head + 1} = a W^V{head + 1}", aligned.memory.value),
            ("scores", "alpha_{i,j} = q_i . k_j / sqrt(d_k)", aligned.scores),
            ("weights", "alpha'_i = softmax(alpha_i): each row sums to 1", aligned.weights),
            ("context", "b_i = sum_j alpha'_{i,j} v_j", aligned.context),
        )
        steps += [Step(f"{name}, {part}", how, plain(t[0, head]), labels) for part, how, t in parts]
    joined = aligned.context[0].transpose(0, 1).flatten(1)
    return Worked(
        formula="MultiHead = Concat(head_1, .., head_h) W^O",
        given=(Step("words", "a_i, one a row", plain(states), rows=labels),),
        steps=(*steps, Step("concatenated", "[b^1; b^2; ..]", plain(joined), labels)),
        result=Step("output", "[b^1; b^2; ..] W^O", plain(output), labels),
        slips=CONCATENATION_SLIPS,
    )


# How many numbers a multi-head layer learns (L54, L55, L58).


def parameter_count(
    width: int = 512, num_heads: int = 8, key_width: int = 64, value_width: int = 64
) -> Worked:
    """Three projections a head and one behind them all, counted in the library's own layer."""
    positive(width=width, num_heads=num_heads, key_width=key_width, value_width=value_width)
    bare, biased = (
        _heads(width, num_heads, key_width, value_width, bias) for bias in (False, True)
    )
    joined = num_heads * value_width
    return Worked(
        formula="h (2 d d_k + d d_v) + h d_v d",
        given=(
            Step("width", "d", width),
            Step("heads", "h", num_heads),
            Step("key width", "d_k", key_width),
            Step("value width", "d_v", value_width),
        ),
        steps=(
            Step(
                "one head",
                f"{width} x ({key_width} + {key_width} + {value_width})",
                (count_parameters(bare) - count_parameters(bare.output)) // num_heads,
            ),
            Step(
                "all heads",
                f"{num_heads} times that",
                count_parameters(bare) - count_parameters(bare.output),
            ),
            Step("output projection", f"{joined} x {width}", count_parameters(bare.output)),
            Step("with biases", "one more a column", count_parameters(biased)),
        ),
        result=Step("parameters", "all heads + output projection", count_parameters(bare)),
    )


def _heads(width: int, num_heads: int, key_width: int, value_width: int, bias: bool) -> Heads:
    with torch.device("meta"):  # shapes alone: nothing is stored, however large
        return Heads(
            width,
            num_heads,
            Attention(ScaledDot(), Softmax()),
            key_width=key_width,
            value_width=value_width,
            bias=bias,
        )
