"""What a search returns: hypotheses and, on request, the whole tree they grew in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final

Finish = Literal["end", "length", "numerics"]
Fate = Literal["kept", "ended", "dropped"]


@final
@dataclass(frozen=True)
class Hypothesis:
    """One output: its symbols without the end, the log-probability of each step, and why it stopped.

    `score` is what the search ranked by: the total log-probability under the length penalty. `forced` symbols
    at the front were given, not found, and count in neither.
    """

    tokens: tuple[int, ...]
    log_probabilities: tuple[float, ...]
    score: float
    finish: Finish
    forced: int = 0

    @property
    def log_probability(self) -> float:
        """The total over the steps that were found."""
        return math.fsum(self.log_probabilities)

    @property
    def probability(self) -> float:
        """How likely the model finds this output."""
        return math.exp(self.log_probability)


NOTHING = Hypothesis((), (), -math.inf, "numerics")  # where scores are NaN, there is no output


@final
@dataclass(frozen=True)
class Expansion:
    """One candidate of one step: `token` behind the hypothesis in slot `parent`, and what became of it."""

    parent: int
    token: int
    log_probability: float
    total: float
    fate: Fate
    slot: int


@final
@dataclass(frozen=True)
class BeamTree:
    """Every candidate that a step compared, kept and dropped, step by step."""

    steps: tuple[tuple[Expansion, ...], ...]
