"""How an answer came about: what each step could have said, and the tree the search grew."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decode import BeamTree
from regard.decode.hypothesis import Fate

MOST = 10

Name = Callable[[int], str]


@final
@dataclass(frozen=True)
class Alternative:
    """One symbol that a step could have said."""

    symbol: str
    id: int
    log_probability: float


@final
@dataclass(frozen=True)
class TracedStep:
    """One symbol of the answer, whether it was given, and the likeliest symbols in its place."""

    symbol: str
    id: int
    log_probability: float
    given: bool
    alternatives: tuple[Alternative, ...]


@final
@dataclass(frozen=True)
class Node:
    """One candidate that the search compared: `symbol` behind slot `parent` of the step before."""

    parent: int
    symbol: str
    id: int
    log_probability: float
    total: float
    fate: Fate
    slot: int
    winner: bool


Tree = tuple[tuple[Node, ...], ...]


def steps_of(
    logits: Float[Tensor, "step choice"], ids: Sequence[int], name: Name, given: int = 0
) -> tuple[TracedStep, ...]:
    """The steps that said these ids, by the logits they were said from."""
    known = logits.double().log_softmax(-1).nan_to_num(nan=-torch.inf, neginf=-torch.inf).cpu()
    values, order = known.sort(dim=-1, descending=True, stable=True)
    steps = []
    for place, number in enumerate(ids):
        ranked = zip(order[place, :MOST].tolist(), values[place, :MOST].tolist(), strict=True)
        others = tuple(Alternative(name(i), i, value) for i, value in ranked if value > -torch.inf)
        own = float(known[place, number])
        steps.append(TracedStep(name(number), number, own, place < given, others))
    return tuple(steps)


def tree_of(tree: BeamTree, steps: Sequence[TracedStep], name: Name) -> Tree:
    """The tree with names, and the nodes marked that say the answer, step by step.

    The search takes a given symbol as certain. Here it has the log-probability that the model gives it, and
    every total behind it counts it, so that a forced answer can be compared with a free one.
    """
    best = _winner(tree, [step.id for step in steps])
    given = [step.log_probability for step in steps if step.given]
    return tuple(
        tuple(
            Node(
                one.parent,
                name(one.token),
                one.token,
                given[number] if number < len(given) else one.log_probability,
                one.total + math.fsum(given[: number + 1]),
                one.fate,
                one.slot,
                place == best.get(number),
            )
            for place, one in enumerate(step)
        )
        for number, step in enumerate(tree.steps)
    )


def _winner(tree: BeamTree, path: Sequence[int]) -> dict[int, int]:
    """Step -> place of the winner's candidate in it; of several that end alike, the one that says it all."""
    if not 0 < len(path) <= len(tree.steps):
        return {}
    walks = (_walk(tree, path, place) for place in range(len(tree.steps[len(path) - 1])))
    return next((walk for walk in walks if walk), {})


def _walk(tree: BeamTree, path: Sequence[int], place: int) -> dict[int, int]:
    """From the last symbol back to the first, as long as it is the path."""
    found: dict[int, int] = {}
    for number in reversed(range(len(path))):
        one = tree.steps[number][place]
        if one.fate == "dropped" or one.token != path[number]:
            return {}
        found[number] = place
        if number:
            slots = [candidate.slot for candidate in tree.steps[number - 1]]
            place = slots.index(one.parent)
    return found
