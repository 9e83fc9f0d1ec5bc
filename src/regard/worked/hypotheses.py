"""Beam search with a beam of two over the six-word table (L75-L77)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode import BeamTree, DecodeSettings, Hypothesis, beam, greedy
from regard.errors import UsageError
from regard.models import Decoder, Encoded
from regard.worked.example import Row, Step, Worked
from regard.worked.given import Table, plain, positive
from regard.worked.surprise import OUTPUTS, VOCABULARY, ids, probabilities

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
    (found,), trees = beam(decoder, nothing, settings, tree=True)
    assert trees is not None
    sums = rows.sum(-1)
    answers = tuple(_answer(one, sums, vocabulary) for one in found)
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
