"""Attention as a soft lookup: an exact table returns one value, a soft one a mixture (L25, L26, L30)."""

from __future__ import annotations

from regard.attention import align, attend
from regard.worked.example import Step, Worked
from regard.worked.given import Numbers, Table, matrix, numbered, plain, vector

KEYS = (
    (1.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 1.0, 0.0),
    (0.0, 0.0, 0.0, 0.0, 1.0),
)


def soft_table(
    query: Numbers = (0.1, 0.2, 0.1, 0.9, 0.3),
    keys: Table = KEYS,
    values: Table = ((1.0, 0.0), (2.0, 0.0), (3.0, 1.0), (4.0, 1.0), (5.0, 0.0)),
    sharpness: Numbers = (1.0, 4.0, 16.0, 64.0),
) -> Worked:
    """The same query asked of an exact table and of soft ones; the sharper, the more alike."""
    asked = vector("query", query)
    rows = matrix("keys", keys, width=len(asked))
    read = matrix("values", values, height=len(rows))
    factors = vector("sharpness", sharpness)
    labels = numbered("key ", len(rows))
    exact = align(asked[None], rows, read, score="dot", normalise="hard")
    soft = align(factors[:, None] * asked, rows, read, score="dot")
    sharp = tuple(f"sharpness {factor:g}" for factor in factors.tolist())
    mixed = attend(factors[:, None] * asked, rows, read, score="dot")
    return Worked(
        formula="exact: the value of the best key\nsoft: sum_j softmax(beta q . k_j) v_j",
        given=(
            Step("query", "q", plain(asked)),
            Step("keys", "k_j", plain(rows), rows=labels),
            Step("values", "v_j", plain(read), rows=labels),
        ),
        steps=(
            Step("match", "q . k_j", plain(exact.scores[0, 0, 0]), columns=labels),
            Step(
                "exact weights",
                "1 for the best, 0 for the others",
                plain(exact.weights[0, 0, 0]),
                columns=labels,
                note="Hard attention: one place is chosen. It has no gradient; softmax lends it one (L26).",
            ),
            Step(
                "soft weights",
                "softmax(beta q . k_j), each in 0..1",
                plain(soft.weights[0, 0]),
                sharp,
                labels,
                note="Soft attention: every key has a say, and learns (L25).",
            ),
            Step("exact value", "v_best", plain(exact.context[0, 0, 0])),
        ),
        result=Step("soft values", "sum_j alpha_j v_j", plain(mixed), rows=sharp),
    )
