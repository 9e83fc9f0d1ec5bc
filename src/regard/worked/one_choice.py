"""One choice of hard attention, small enough to know its gradient: four ways to estimate it (L26)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.attention import Sampled, make_normaliser
from regard.errors import UsageError
from regard.worked.worked_example import (
    Number,
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

Scores = Float[Tensor, " key"]
Gradients = Float[Tensor, "sample key"]
MOST = 200_000


def hard_choice(
    scores: Numbers = (1.0, 0.0, -0.5),
    values: Table = ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5)),
    output: Table = ((2.0, -1.0), (-1.0, 2.0), (0.0, 0.0)),
    target: Number = 2,
    samples: Number = 20_000,
    seed: Number = 1,
) -> Worked:
    """Which way the scores should move: the true gradient, then what each estimator says on average.

    `target` is the number of the right word, whose weights are that row of `output`.
    """
    given = vector("scores", scores)
    read = matrix("values", values, height=len(given))
    words = matrix("output", output, width=read.shape[1])
    _check(target, len(words), samples)
    right = int(target) - 1
    each = _losses(read, words, right)
    chances = given.softmax(-1)
    expected = (chances * each).sum()
    true = chances * (each - expected)
    with seeded(int(seed)):
        estimates = _estimates(given, read, words, right, int(samples), float(-expected))
    keys, names = numbered("key ", len(given)), tuple(estimates)
    means = torch.stack([one.mean(0) for one in estimates.values()])
    far = (means - true).norm(dim=-1)
    spread = torch.stack([one.var(0, correction=0).sum() for one in estimates.values()])
    return Worked(
        formula="J(e) = sum_i a_i L_i,  a = softmax(e),  L_i = -ln p(word | v_i)\n"
        "dJ/de_j = a_j (L_j - J)",
        given=(
            Step("scores", "e_j", plain(given), columns=keys),
            Step("values", "v_j", plain(read), rows=keys),
            Step("output weights", "W", plain(words), rows=numbered("word ", len(words))),
            Step("right word", "y", int(target)),
        ),
        steps=(
            Step("chances", "a = softmax(e)", plain(chances), columns=keys),
            Step("losses", "L_i = -ln softmax(W v_i)_y", plain(each), columns=keys),
            Step(
                "expected loss",
                "J = sum_i a_i L_i",
                plain(expected),
                note="What a model pays on average that draws one key by its chance.",
            ),
            Step("true gradient", "a_j (L_j - J)", plain(true), columns=keys),
            *_other_losses(given, read, words, right, each),
            Step(
                "mean of the estimates",
                f"over {int(samples):,} samples",
                plain(means),
                names,
                keys,
                note="REINFORCE has the true gradient as its mean, with any baseline. The other three have "
                "another one: they go through the softmax, as if the context had been a mixture.",
            ),
            Step("distance", "|mean - true gradient|", plain(far), columns=names),
        ),
        result=Step(
            "variance",
            "mean |estimate - mean|^2",
            plain(spread),
            columns=names,
            note="The price of being right on average; a baseline lowers it. What does not draw has none.",
        ),
    )


def _check(target: Number, words: int, samples: Number) -> None:
    positive(target=target, samples=samples)
    if target > words or samples > MOST:
        raise UsageError(
            f"there are {words} words and up to {MOST:,} samples, not word {target} and {samples} samples",
            where="target, samples",
            remedy=f"give target = 1 to {words}, and fewer samples",
        )


def _losses(contexts: Float[Tensor, "rows width"], words: Tensor, right: int) -> Tensor:
    """-ln p of the right word after each context."""
    logits = contexts @ words.T
    return F.cross_entropy(logits, torch.full((len(logits),), right), reduction="none")


def _other_losses(
    scores: Scores, values: Tensor, words: Tensor, right: int, each: Tensor
) -> tuple[Step, Step]:
    """What soft attention and the exact sum pay instead: p of a mixture, and a mixture of p."""
    chances = scores.softmax(-1)
    soft = _losses((chances @ values)[None], words, right)[0]
    marginal = -torch.logsumexp(chances.log() - each, -1)
    return (
        Step("soft loss", "-ln p(y | sum_i a_i v_i)", plain(soft)),
        Step(
            "marginal loss",
            "-ln sum_i a_i p(y | v_i), never more than J",
            plain(marginal),
            note="The exact sum over choices: no sampling, but one output layer a key.",
        ),
    )


def _estimates(
    scores: Scores, values: Tensor, words: Tensor, right: int, samples: int, usual: float
) -> dict[str, Gradients]:
    """One gradient of the scores a sample, by the library's own normalisers."""
    estimates = {}
    for label, name in (("soft", "softmax"), ("straight-through", "hard"), ("Gumbel", "gumbel")):
        leaf = scores.expand(samples, 1, 1, -1).clone().requires_grad_()
        context = make_normaliser(name)(leaf) @ values
        _losses(context.flatten(0, 2), words, right).sum().backward()
        assert leaf.grad is not None
        estimates[label] = leaf.grad.flatten(0, 2)
    for label, baseline in (("REINFORCE", 0.0), ("with baseline", usual)):
        leaf = scores.expand(samples, 1, 1, -1).clone().requires_grad_()
        weights = Sampled()(leaf)
        reward = -_losses((weights @ values).flatten(0, 2), words, right)
        chosen = Sampled.log_chance(leaf, weights).flatten()
        (-(reward - baseline) * chosen).sum().backward()
        assert leaf.grad is not None
        estimates[label] = leaf.grad.flatten(0, 2)
    return estimates
