"""A number that says how it was made: every measure of this room comes back as a `Metric`.

All values are on the scale papers print, 0 to 100 (an error rate can pass 100). A metric has no
meaning without its signature, so there is no way to make one without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError


@final
@dataclass(frozen=True)
class Metric:
    """`BLEU 41.02 [40.1, 41.9] (nrefs:1|case:lc|...)`: value, 95% interval, and how to repeat it."""

    name: str
    value: float
    signature: str
    interval: tuple[float, float] | None = None
    higher_is_better: bool = True

    def __post_init__(self) -> None:
        assert self.signature, f"{self.name} without a signature cannot be compared with anything"

    def __str__(self) -> str:
        value = f"{self.value:.2f}" if math.isfinite(self.value) else "undefined"
        interval = "[{:.1f}, {:.1f}] ".format(*self.interval) if self.interval else ""
        return f"{self.name} {value} {interval}({self.signature})"

    def as_dict(self) -> dict[str, object]:
        """The metric as JSON can hold it; what is not finite becomes null."""
        return {
            "name": self.name,
            "value": _finite(self.value),
            "interval": [_finite(end) for end in self.interval] if self.interval else None,
            "signature": self.signature,
            "higher_is_better": self.higher_is_better,
        }


def require_parallel(
    predicted: Sequence[Any], gold: Sequence[Any], names: str = "predictions and references"
) -> None:
    """Two lists that are compared item by item have the same length, and something in them."""
    first, _, second = names.partition(" and ")
    counts = f"{len(predicted)} {first}, {len(gold)} {second}"
    if len(predicted) != len(gold):
        raise DataError(
            f"{names} do not pair up: {counts}",
            remedy="give one prediction for each reference, in the same order",
            where=names,
        )
    if not predicted:
        raise DataError(
            f"there is nothing to compare: {counts}", remedy="give at least one pair", where=names
        )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# How sure a score is: 95% intervals, by formula where one exists, by resampling where none does.
# Answers that are right or wrong, independently of each other, have Wilson's interval. Scores made of sums
# over sentences (words in a sentence are not independent) are resampled by whole sentences. BLEU and chrF
# use sacrebleu's own resampling, so that their intervals match its command line.

RESAMPLES = 1000
SEED = 12345
BOOTSTRAP = f"bs:{RESAMPLES}|seed:{SEED}"

_CHUNK = 1 << 22  # drawn sentence counts held at a time: 32 MiB

Sums = NDArray[np.int64]
Values = NDArray[np.float64]


def wilson(right: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """(p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), in per cent (Wilson 1927).

    Unlike p ± z sqrt(p(1-p)/n) it stays inside 0 and 100 and has a width even when all are right.
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = right / total
    centre = share + z * z / (2 * total)
    margin = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 100 / (1 + z * z / total)
    return max(0.0, scale * (centre - margin)), min(100.0, scale * (centre + margin))


def bootstrap(counts: Sums, score: Callable[[Sums], Values]) -> tuple[float, float]:
    """The middle 95% of the scores of test sets drawn from this one with replacement (Efron 1979).

    `counts` has a row a sentence and a column for each thing counted; `score` turns summed rows,
    (resamples, columns), into one score a resample. Resamples with no score (0/0) are left out.
    """
    sentences = len(counts)
    generator = np.random.default_rng(SEED)
    chunk = max(1, _CHUNK // sentences)
    scores: list[Values] = []
    for start in range(0, RESAMPLES, chunk):
        rows = min(chunk, RESAMPLES - start)
        # How often each sentence was drawn: the sums follow by one exact integer product.
        drawn = generator.multinomial(sentences, np.full(sentences, 1 / sentences), size=rows)
        scores.append(score(drawn @ counts))
    values = np.concatenate(scores)
    low, high = np.percentile(values[np.isfinite(values)], (2.5, 97.5))
    return float(low), float(high)


def percent(part: Sums, whole: Sums) -> Values:
    """100 x part / whole, and not a number where the whole is nothing."""
    return np.divide(100.0 * part, whole, out=np.full(np.shape(whole), np.nan), where=whole != 0)
