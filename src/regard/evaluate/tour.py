"""Tours: how many are whole, how long they are, and how much longer than the ones they were to be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from regard.evaluate.metric import BOOTSTRAP, Metric, Sums, Values, bootstrap, require_parallel

Score = Callable[[Sums], Values]
Points = Sequence[Sequence[float]]


def tour_length(points: Points, tour: Sequence[int]) -> float:
    """All the way round, back to the first; not finite for what is no tour of all points."""
    if sorted(tour) != list(range(len(points))):
        return math.inf
    return sum(math.dist(points[tour[n - 1]], points[place]) for n, place in enumerate(tour))


def tour_scores(
    problems: Sequence[Points], predicted: Sequence[Sequence[int]], given: Sequence[Sequence[int]]
) -> list[Metric]:
    """Whole tours; of these the mean length, and how much longer than the given ones they are."""
    require_parallel(predicted, given, "tours and given tours")
    both = [
        (tour_length(points, said), tour_length(points, due))
        for points, said, due in zip(problems, predicted, given, strict=True)
    ]
    whole = np.array([math.isfinite(said) for said, _ in both])
    signature = f"n:{len(both)}|given:{np.mean([due for _, due in both]):.4f}|{BOOTSTRAP}"
    kept = np.array([pair for pair in both if math.isfinite(pair[0])]).reshape(-1, 2)
    billionths = np.rint(1e9 * kept).astype(np.int64)  # sums of integers are exact
    sums = np.column_stack([billionths, np.ones(len(kept), np.int64)])
    metrics = [Metric("whole tours", 100 * float(whole.mean()), signature)]
    if len(kept):
        metrics += [
            _metric("tour length", sums, _length, signature),
            _metric("longer by %", sums, _longer, signature),
        ]
    return metrics


def _metric(name: str, sums: Sums, score: Score, signature: str) -> Metric:
    value = float(score(sums.sum(axis=0, keepdims=True))[0])
    return Metric(name, value, signature, bootstrap(sums, score), higher_is_better=False)


def _length(sums: Sums) -> Values:
    return sums[:, 0] / (1e9 * sums[:, 2])


def _longer(sums: Sums) -> Values:
    return 100 * (sums[:, 0] / sums[:, 1] - 1)
