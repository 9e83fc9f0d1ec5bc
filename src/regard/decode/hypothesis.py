"""What a search returns: hypotheses and, on request, the whole tree they grew in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.settings.architecture import Penalty
from regard.settings.decode import DecodeSettings

Finish = Literal["end", "length", "numerics"]
Fate = Literal["kept", "ended", "dropped"]
NO_LIMIT = 1 << 30  # symbols of an answer, where nobody set a limit


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


# Long outputs have small probabilities; a length penalty divides by a power of the length to be fair.


def divisor(length: int | Tensor, kind: Penalty, alpha: float) -> float | Tensor:
    """average: length^alpha; gnmt: ((5 + length) / 6)^alpha (Wu 2016). The end symbol counts."""
    match kind:
        case "none":
            return length * 0.0 + 1.0
        case "average":
            return length**alpha
        case "gnmt":
            return ((5.0 + length) / 6.0) ** alpha


def best_to_come(
    totals: Float[Tensor, "rows slots"], longest: int | Tensor, kind: Penalty, alpha: float
) -> Float[Tensor, "rows slots"]:
    """The highest score an unfinished hypothesis can still reach.

    Its total can only fall, and dividing a negative number by the largest divisor helps it most.
    """
    return totals / divisor(longest, kind, alpha)


def hypothesis(
    path: list[tuple[int, float]],
    total: float,
    finish: Finish,
    forced: int,
    settings: DecodeSettings,
) -> Hypothesis:
    """A finished path of (symbol, log-probability) with its score; the end symbol is left off."""
    symbols = path[:-1] if finish == "end" else path
    added = tuple(log_probability for _, log_probability in path[forced:])
    score = total / float(divisor(max(len(added), 1), settings.penalty, settings.alpha))
    return Hypothesis(tuple(token for token, _ in symbols), added, score, finish, forced)


# Rows that are done leave the batch, so that nothing more is worked out for them.


def kept_rows(open_rows: Bool[Tensor, " rows"], multiple: int) -> Int[Tensor, " kept"]:
    """Rows to go on with: the open ones, filled up with others to a multiple; or all of them; or none."""
    wanted = -(-int(open_rows.sum()) // multiple) * multiple
    if 0 < len(open_rows) <= wanted:
        return torch.arange(len(open_rows), device=open_rows.device)
    order = torch.argsort(open_rows.int(), descending=True, stable=True)[:wanted]
    return order.sort().values
