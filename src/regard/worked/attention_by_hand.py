"""Attention by hand: a soft lookup, six scores, six steps, why scores are divided, and masks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import (
    Aligned,
    Causal,
    Dot,
    Given,
    Mask,
    Padding,
    ScaledDot,
    ScoreName,
    Window,
    align,
    attend,
)
from regard.errors import UsageError
from regard.worked.likeness import TABLES
from regard.worked.worked_example import (
    Numbers,
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
    state = vector("query", query)
    rows = matrix("keys", keys, width=len(state))
    read = matrix("values", values, height=len(rows))
    factors = vector("sharpness", sharpness)
    labels = numbered("key ", len(rows))
    exact = align(state[None], rows, read, score="dot", normalise="hard")
    soft = align(factors[:, None] * state, rows, read, score="dot")
    sharp = tuple(f"sharpness {factor:g}" for factor in factors.tolist())
    mixed = attend(factors[:, None] * state, rows, read, score="dot")
    return Worked(
        formula="exact: the value of the best key\nsoft: sum_j softmax(beta q . k_j) v_j",
        given=(
            Step("query", "q", plain(state)),
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


# The six score functions side by side, on the same query and keys (L17-L22).

JE, SUIS, ETUDIANT = TABLES["four cells (L4)"].values()

FORMULAS: dict[ScoreName, str] = {
    "cosine": "s . h / |s| |h|",
    "additive": "v . tanh(W [s; h]), here sum_n tanh(s_n + h_n)",
    "location": "(W s)_j, here the j-th neuron of s",
    "general": "s . W h, here W is the identity, which leaves the dot product",
    "dot": "s . h",
    "scaled-dot": "s . h / sqrt(n)",
}


def score_functions(query: Numbers = SUIS, keys: Table = (JE, SUIS, ETUDIANT)) -> Worked:
    """What each neuron contributes, the scores they add up to, and the softmax of those.

    A model learns the weights W and v. Here they are ones and identities: the plainest case.
    """
    state = vector("query", query)
    memory = matrix("keys", keys, width=len(state))
    labels, neurons = numbered("h_", len(memory)), numbered("neuron ", len(state))
    steps, weights = [], []
    for name, formula in FORMULAS.items():
        with seeded(0):  # a named score draws its weights before they are set
            aligned = align(state[None], memory, score=name)
        rows = torch.cat([aligned.scores[0, 0], aligned.weights[0, 0]])
        steps += [
            Step(f"{name}, by neuron", "", plain(aligned.contributions[0, 0, 0]), labels, neurons),
            Step(name, formula, plain(rows), ("score", "weight"), labels),
        ]
        weights.append(aligned.weights[0, 0, 0])
    return Worked(
        formula="alpha_i = softmax_i(score(s, h_i))",
        given=(
            Step("query", "s", plain(state), columns=neurons),
            Step("keys", "h_i", plain(memory), labels, neurons),
        ),
        steps=tuple(steps),
        result=Step("weights", "alpha_i", plain(torch.stack(weights)), tuple(FORMULAS), labels),
    )


# Attention in six steps: what Thinking reads from Thinking Machines (L32, L34, L67, L68).

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
    state = vector("query", query)
    memory = matrix("keys", keys, width=len(state))
    read = matrix("values", values, height=len(memory))
    bare, scaled = (align(state[None], memory, read, score=name) for name in ("dot", "scaled-dot"))
    weights = scaled.weights[0, 0, 0]
    labels, neurons = numbered("k_", len(memory)), numbered("n_", len(state))
    return Worked(
        formula="softmax(Q K^T / sqrt(d_k)) V = Z",
        given=(
            Step("query", "q_1", plain(state)),
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
                f"score / sqrt(d_k) = score / {math.sqrt(len(state)):g}",
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
            plain(attend(state[None], memory, read)[0]),
        ),
    )


def _slope(aligned: Aligned) -> float:
    """How the first weight answers to the first score, by autograd through the library's softmax."""
    scores: Float[Tensor, "1 1 1 key"] = aligned.scores.detach().requires_grad_()
    first = aligned.attention.normaliser(scores)[0, 0, 0, 0]
    (gradient,) = torch.autograd.grad(first, scores)
    return float(gradient[0, 0, 0, 0])


# Why scores are divided by sqrt(d_k): a sum of d_k products has variance d_k (L63).


def score_variance(
    widths: Sequence[int] = (1, 4, 16, 64, 256), samples: int = 5_000, seed: int = 1
) -> Worked:
    """Queries and keys of mean 0 and variance 1 are drawn, and their scores measured."""
    positive(widths=min(widths, default=0), samples=samples)
    chance = torch.Generator().manual_seed(seed)
    rows = []
    for width in widths:
        drawn = torch.randn(2, samples, 1, 1, width, generator=chance, dtype=torch.float64)
        bare, scaled = (score(*drawn).flatten() for score in (Dot(), ScaledDot()))
        rows.append(
            [
                bare.mean(),
                bare.var(correction=0),
                bare.var(correction=0) / width,
                scaled.var(correction=0),
            ]
        )
    measured = torch.tensor(rows, dtype=torch.float64)
    labels = tuple(f"d_k = {width}" for width in widths)
    return Worked(
        formula="Var(q . k) = sum_n Var(q_n k_n) = d_k;  Var(q . k / sqrt(d_k)) = 1",
        given=(
            Step("widths", "d_k", tuple(widths)),
            Step("samples", "pairs of q and k a width", samples),
        ),
        steps=(
            Step("mean", "mean of q . k: near 0", plain(measured[:, 0]), columns=labels),
            Step("variance", "variance of q . k: near d_k", plain(measured[:, 1]), columns=labels),
            Step("variance / d_k", "near 1", plain(measured[:, 2]), columns=labels),
        ),
        result=Step(
            "scaled", "variance of q . k / sqrt(d_k): near 1", plain(measured[:, 3]), columns=labels
        ),
    )


# Masks painted: which word may look at which (L35-L38).

WORDS = ("I", "am", "a", "student", "<pad>", "<pad>")
# Every word looks at itself and at the first one.
PAINTED = tuple(tuple(int(j in (0, i)) for j in range(len(WORDS))) for i in range(len(WORDS)))


def painted_masks(
    words: Sequence[str] = WORDS,
    length: int = 4,
    window: int = 1,
    painted: Table = PAINTED,
) -> Worked:
    """Each mask as a picture, and the weights it leaves when every score is the same.

    The first `length` words are real; a window reaches `window` words to each side. `painted` is yours: 1
    where the word of the row may look at the word of the column.
    """
    positive(words=len(words))
    if not 0 <= length <= len(words):
        raise UsageError(
            f"length must be in 0..{len(words)}; it is {length}",
            where="length",
            remedy=f"take {len(words)} for no padding at all",
        )
    count, labels = len(words), tuple(words)
    yours = matrix("painted", painted, count, count) != 0
    masks: dict[str, tuple[str, Mask]] = {
        "painted": ("M_ij = 0 where you painted, -inf elsewhere", Given(yours[None, None])),
        "causal": ("j <= i: no looking ahead (L36)", Causal()),
        "padding": ("j < length: only real words (L37)", Padding(torch.tensor([length]))),
        "window": ("|i - j| <= range: the neighbours alone (L38)", Window(window, window)),
        "causal and padding": ("both must allow it", Causal() & Padding(torch.tensor([length]))),
    }
    equal = torch.zeros(count, 1, dtype=torch.float64)
    steps = []
    for name, (formula, mask) in masks.items():
        aligned = align(equal, equal, mask=mask)
        allowed = mask.to_bool(count, count)[0, 0]
        steps += [
            Step(name, formula, plain(allowed), labels, labels),
            Step(
                f"{name}, weights", "softmax(0 + M)", plain(aligned.weights[0, 0]), labels, labels
            ),
        ]
    causal = align(equal, equal, mask=Causal())
    return Worked(
        formula="softmax(Q K^T / sqrt(d_k) + M) V,  M_ij = -inf where i may not look at j",
        given=(
            Step("words", "a row looks, a column is looked at", labels),
            Step("length", "real words", length),
            Step("window", "range to each side", window),
        ),
        steps=tuple(steps),
        result=Step(
            "M", "the causal mask as it is added", plain(causal.scores[0, 0]), labels, labels
        ),
    )
