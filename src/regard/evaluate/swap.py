"""Is system b better than a, or lucky? By swapping their answers, for scores that count what is right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.evaluate.comparison import Comparison
from regard.evaluate.interval import SEED
from regard.evaluate.metric import Metric, require_parallel

SWAPS = 10_000
_CHUNK = 1 << 22  # swaps held in memory at a time


def paired_counts(
    system_a: Metric, system_b: Metric, right_a: Sequence[int], right_b: Sequence[int]
) -> Comparison:
    """Were the systems the same, any answer could be either's (Riezler and Maxwell 2005).

    `right_a` and `right_b` count what each system got right in each sentence. p is how often, over 10,000
    random swaps, the totals differ at least as much as they do; the answers as they are count as one swap.
    """
    require_parallel(right_a, right_b, "counts of a and counts of b")
    differences = np.asarray(right_b, np.int64) - np.asarray(right_a, np.int64)
    differences = differences[differences != 0]  # to swap equals changes nothing
    observed = abs(int(differences.sum()))
    generator = np.random.default_rng(SEED)
    as_large, chunk = 0, max(1, _CHUNK // max(1, len(differences)))
    for start in range(0, SWAPS, chunk):
        shape = (min(chunk, SWAPS - start), len(differences))
        totals = (2 * generator.integers(0, 2, shape) - 1) @ differences
        as_large += int((np.abs(totals) >= observed).sum())
    p_value = (as_large + 1) / (SWAPS + 1)
    return Comparison(system_a, system_b, p_value, "randomisation")
