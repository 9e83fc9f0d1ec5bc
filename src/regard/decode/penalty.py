"""Long outputs have small probabilities; a length penalty divides by a power of the length to be fair."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from regard.decode.hypothesis import Finish, Hypothesis
from regard.settings.decode import DecodeSettings
from regard.settings.names import Penalty


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
