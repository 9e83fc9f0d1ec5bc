"""Flying arrows: one head that takes query, key and value from two dimensions each (L56)."""

from __future__ import annotations

import math

import torch

from regard.attention import Attention, Heads, ScaledDot, Softmax, watch
from regard.worked.example import Slip, Step, Worked
from regard.worked.given import Number, Numbers, plain, seeded, vector

SLIPS = (
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
        slips=SLIPS,
    )
