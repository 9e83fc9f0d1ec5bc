"""The six-word vocabulary: how far the model's outputs are from the targets (L70-L72)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention import Softmax
from regard.errors import UsageError, nearest
from regard.worked.example import Slip, Step, Worked
from regard.worked.given import Table, matrix, plain

VOCABULARY = ("a", "am", "I", "thanks", "student", "<eos>")
TARGETS = ("I", "am", "a", "student", "<eos>")
OUTPUTS = (
    (0.01, 0.02, 0.93, 0.01, 0.03, 0.01),
    (0.01, 0.8, 0.1, 0.05, 0.01, 0.03),
    (0.99, 0.001, 0.001, 0.001, 0.002, 0.001),
    (0.001, 0.002, 0.001, 0.02, 0.94, 0.01),
    (0.01, 0.01, 0.001, 0.001, 0.001, 0.98),
)

SLIPS = (
    Slip(
        "L72",
        "row sums",
        (1.0, 1.0, 1.0, 1.0, 1.0),
        (1.010, 1.000, 0.996, 0.974, 1.003),
        "The outputs of a softmax sum to 1; only the second row does. Divided by their sums, the rows give a "
        "total of 0.37044, a mean of 0.07409 and a perplexity of 1.07690.",
    ),
)


def six_word_loss(
    outputs: Table = OUTPUTS,
    targets: Sequence[str] = TARGETS,
    vocabulary: Sequence[str] = VOCABULARY,
) -> Worked:
    """Cross-entropy row by row, perplexity, the gradient p - y, and the divergence from the targets."""
    rows = probabilities(outputs, len(targets), len(vocabulary))
    wanted = ids(targets, vocabulary)
    sums = rows.sum(-1)
    logits = rows.log().requires_grad_()
    shares = Softmax()(logits[None, None])[
        0, 0
    ]  # a softmax of logarithms divides each row by its sum
    true = F.one_hot(wanted, len(vocabulary)).double()
    surprise = -rows[range(len(rows)), wanted].log()
    fair = F.cross_entropy(logits, wanted, reduction="none")
    (gradient,) = torch.autograd.grad(fair.sum(), logits)
    shares, fair = shares.detach(), fair.detach()
    divergence = (torch.xlogy(true, true) - torch.xlogy(true, shares)).sum(-1)
    labels, words = tuple(targets), tuple(vocabulary)
    return Worked(
        formula="CE(y, p) = -sum_w y_w ln p_w = -ln p_target,  perplexity = exp(mean CE)",
        given=(
            Step("outputs", "p, as the slide prints them", plain(rows), labels, words),
            Step("targets", "y, one-hot", plain(true), labels, words),
        ),
        steps=(
            Step("row sums", "sum_w p_w", plain(sums), columns=labels),
            Step("untrained", f"-ln(1/{len(words)}) for an even guess", math.log(len(words))),
            Step("cross-entropy", "-ln p_target", plain(surprise), columns=labels),
            Step("sum", "sum_t CE_t", float(surprise.sum())),
            Step("mean", "sum / length", float(surprise.mean())),
            Step("perplexity", "exp(mean)", float(surprise.mean().exp())),
            Step("renormalised", "p / row sum", plain(shares), labels, words),
            Step("renormalised cross-entropy", "-ln p_target", plain(fair), columns=labels),
            Step("renormalised sum", "sum_t CE_t", float(fair.sum())),
            Step("renormalised mean", "sum / length", float(fair.mean())),
            Step("renormalised perplexity", "exp(mean)", float(fair.mean().exp())),
            Step(
                "divergence",
                "KL(y, p) = sum_w y_w ln(y_w / p_w)",
                plain(divergence),
                columns=labels,
                note="The same as the cross-entropy, since a one-hot target has no entropy of its own.",
            ),
            Step("difference", "p - y", plain(shares - true), labels, words),
        ),
        result=Step(
            "gradient",
            "dCE/dlogits, by autograd: it is p - y",
            plain(gradient),
            labels,
            words,
        ),
        slips=SLIPS,
    )


def probabilities(outputs: Table, height: int, width: int) -> Float[Tensor, "height width"]:
    """Rows of numbers that are not negative, with something in each."""
    rows = matrix("outputs", outputs, height, width)
    if (rows < 0).any() or (rows.sum(-1) <= 0).any():
        raise UsageError(
            "outputs are probabilities: not negative, and not all 0 in a row",
            where="outputs",
            remedy="give rows such as [0.7, 0.2, 0.1]",
        )
    return rows


def ids(words: Sequence[str], vocabulary: Sequence[str]) -> Int[Tensor, " words"]:
    """The place of each word in the vocabulary."""
    for word in words:
        if word not in vocabulary:
            raise UsageError(
                f"'{word}' is not in the vocabulary",
                where="targets",
                remedy=nearest(word, vocabulary),
            )
    return torch.tensor([list(vocabulary).index(word) for word in words])
