"""Two heads side by side, from the words to the output, with every shape right (L29, L52, L53, L57)."""

from __future__ import annotations

import torch

from regard.attention import Attention, Heads, ScaledDot, Softmax, watch
from regard.worked.example import Slip, Step, Worked
from regard.worked.given import Table, matrix, numbered, plain, seeded

SLIPS = (
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
        slips=SLIPS,
    )
