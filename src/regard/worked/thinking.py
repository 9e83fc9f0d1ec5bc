"""Attention in six steps: what Thinking reads from Thinking Machines (L32, L34, L67, L68)."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import Aligned, align, attend
from regard.worked.example import Step, Worked
from regard.worked.given import Numbers, Table, matrix, numbered, plain, vector

WIDTH = 64


def six_steps(
    query: Numbers = (1.0,) * WIDTH,
    keys: Table = ((1.75,) * WIDTH, (1.5,) * WIDTH),
    values: Table = ((1.0, 0.0), (0.0, 1.0)),
) -> Worked:
    """Score, divide, softmax, weigh, sum; and what would happen without the division.

    The slide shows the products 112 and 96 and not the vectors; these give the same, and the values are
    chosen so that the output shows the weights.
    """
    asked = vector("query", query)
    memory = matrix("keys", keys, width=len(asked))
    read = matrix("values", values, height=len(memory))
    bare, scaled = (align(asked[None], memory, read, score=name) for name in ("dot", "scaled-dot"))
    weights = scaled.weights[0, 0, 0]
    labels, neurons = numbered("k_", len(memory)), numbered("n_", len(asked))
    return Worked(
        formula="softmax(Q K^T / sqrt(d_k)) V = Z",
        given=(
            Step("query", "q_1", plain(asked)),
            Step("keys", "k_j", plain(memory), rows=labels),
            Step("values", "v_j", plain(read), rows=numbered("v_", len(read))),
        ),
        steps=(
            Step(
                "products",
                "q_1 * k_j, by neuron",
                plain(bare.contributions[0, 0, 0]),
                labels,
                neurons,
            ),
            Step("score", "q_1 . k_j", plain(bare.scores[0, 0, 0]), columns=labels),
            Step(
                "divide",
                f"score / sqrt(d_k) = score / {math.sqrt(len(asked)):g}",
                plain(scaled.scores[0, 0, 0]),
                columns=labels,
            ),
            Step("softmax", "exp(e_j) / sum_l exp(e_l)", plain(weights), columns=labels),
            Step(
                "weigh",
                "alpha_j v_j",
                plain(weights[:, None] * read),
                rows=numbered("v_", len(read)),
            ),
            Step("sum", "z_1 = sum_j alpha_j v_j", plain(scaled.context[0, 0, 0])),
            Step(
                "undivided",
                "softmax(q_1 . k_j): saturated",
                plain(bare.weights[0, 0, 0]),
                columns=labels,
            ),
            Step(
                "slopes",
                "d alpha_1 / d e_1 = alpha_1 (1 - alpha_1), divided and undivided",
                (_slope(scaled), _slope(bare)),
                columns=("divided", "undivided"),
                note="Where softmax is saturated almost no gradient flows: this is what the division is for.",
            ),
        ),
        result=Step(
            "matrix form",
            "softmax(Q K^T / sqrt(d_k)) V",
            plain(attend(asked[None], memory, read)[0]),
        ),
    )


def _slope(aligned: Aligned) -> float:
    """How the first weight answers to the first score, by autograd through the library's softmax."""
    scores: Float[Tensor, "1 1 1 key"] = aligned.scores.detach().requires_grad_()
    first = aligned.attention.normaliser(scores)[0, 0, 0, 0]
    (gradient,) = torch.autograd.grad(first, scores)
    return float(gradient[0, 0, 0, 0])
