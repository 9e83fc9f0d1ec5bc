"""The six-word vocabulary: the loss of a model's outputs (L70-L72), and a beam of two over them (L75-L77)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention import Softmax
from regard.decode import BeamTree, DecodeSettings, Hypothesis, beam, greedy
from regard.errors import UsageError, nearest
from regard.models import Decoder, Encoded
from regard.worked.worked_example import Row, Slip, Step, Table, Worked, matrix, plain, positive

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


# Beam search with a beam of two over the six-word table (L75-L77).

END = "<eos>"


@final
class TableDecoder(Decoder[Tensor]):
    """Says row t of a table at step t, whatever was said before: the slide as a model."""

    def __init__(self, logits: Float[Tensor, "steps vocabulary"], end: int) -> None:
        super().__init__()
        self.register_buffer("logits", logits)
        self.logits: Tensor
        self.begin = self.end = end

    def start(self, encoded: Encoded, capacity: int) -> Int[Tensor, " batch"]:  # noqa: ARG002
        """At the first row."""
        return torch.zeros(len(encoded.states), dtype=torch.long)

    def step(
        self,
        state: Int[Tensor, " batch"],
        tokens: Int[Tensor, " batch"],  # noqa: ARG002
    ) -> tuple[Float[Tensor, "batch vocabulary"], Int[Tensor, " batch"]]:
        """This row, and the next one's number."""
        return self.logits[state], state + 1

    def forward(
        self, encoded: Encoded, inputs: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        """The same rows for all."""
        return self.logits[: inputs.shape[1]].expand(len(encoded.states), -1, -1)


def beam_of_two(
    outputs: Table = OUTPUTS,
    vocabulary: Sequence[str] = VOCABULARY,
    beam_size: int = 2,
    top_beams: int = 2,
) -> Worked:
    """Every candidate of every step, kept and dropped, by the library's own search.

    The search divides each row by its sum, as a softmax would have. That changes no ranking; the printed
    probabilities come back when the sums are multiplied in again.
    """
    rows = probabilities(outputs, len(outputs), len(vocabulary))
    positive(beam_size=beam_size, top_beams=top_beams)
    if top_beams > beam_size:
        raise UsageError(
            f"top_beams = {top_beams} asks for more than beam_size = {beam_size} follows",
            where="top_beams",
            remedy=f"take top_beams of {beam_size} or fewer, or a wider beam",
        )
    (end,) = ids([END], vocabulary).tolist()
    decoder = TableDecoder(rows.log(), end)
    settings = DecodeSettings(
        beam=beam_size, top_beams=top_beams, penalty="none", max_length=len(rows)
    )
    nothing = Encoded.nothing(1, rows)
    ((best,),) = greedy(decoder, nothing, settings)
    (hypotheses,), trees = beam(decoder, nothing, settings, tree=True)
    assert trees is not None
    sums = rows.sum(-1)
    answers = tuple(_answer(one, sums, vocabulary) for one in hypotheses)
    return Worked(
        formula="p(w_1 .. w_T) = prod_t p(w_t);  keep the best beam_size beginnings, return top_beams",
        given=(
            Step(
                "outputs",
                "p at each step, as the slide prints them",
                plain(rows),
                tuple(f"step {n + 1}" for n in range(len(rows))),
                tuple(vocabulary),
            ),
            Step("beam_size", "hypotheses kept", beam_size),
            Step("top_beams", "hypotheses returned", top_beams),
        ),
        steps=(
            Step("greedy", "the best word at each step, until the end", _words(best, vocabulary)),
            *_drawn(trees[0], sums, vocabulary),
        ),
        result=Step(
            "hypotheses",
            "the best, with probability and its logarithm",
            answers,
            columns=("output", "p", "ln p"),
        ),
    )


def _drawn(tree: BeamTree, sums: Tensor, vocabulary: Sequence[str]) -> list[Step]:
    """A step of the working for each step of the search."""
    steps, slots = [], {0: ""}
    for number, expansions in enumerate(tree.steps):
        product = float(sums[: number + 1].prod())
        rows: list[Row] = []
        after: dict[int, str] = {}
        for one in expansions:
            text = f"{slots[one.parent]} {vocabulary[one.token]}".strip()
            chance = math.exp(one.log_probability) * float(sums[number])
            rows.append((text, chance, math.exp(one.total) * product, one.fate))
            if one.fate == "kept":
                after[one.slot] = text
        columns = ("beginning", "p of the word", "p", "fate")
        steps.append(Step(f"step {number + 1}", "candidates, best first", tuple(rows), (), columns))
        slots = after
    return steps


def _answer(one: Hypothesis, sums: Tensor, vocabulary: Sequence[str]) -> Row:
    total = one.log_probability + float(sums[: len(one.log_probabilities)].log().sum())
    return _words(one, vocabulary), math.exp(total), total


def _words(one: Hypothesis, vocabulary: Sequence[str]) -> str:
    end = [END] if one.finish == "end" else []
    return " ".join([vocabulary[token] for token in one.tokens] + end)
