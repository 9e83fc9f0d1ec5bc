"""How sure a score is: 95% intervals, by formula where one exists, by resampling where none does.

Answers that are right or wrong, independently of each other, have Wilson's interval. Scores made of
sums over sentences (words in a sentence are not independent) are resampled by whole sentences.
BLEU and chrF use sacrebleu's own resampling, so that their intervals match its command line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

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
