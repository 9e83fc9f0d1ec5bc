"""The classic faults of translation without good attention: saying things twice, leaving them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from regard.errors import DataError
from regard.evaluate.interval import BOOTSTRAP, Sums, bootstrap, percent
from regard.evaluate.metric import Metric, require_parallel


def repetition(hypotheses: Sequence[str], order: int = 2) -> Metric:
    """The share of n-grams that the same sentence has said before; compare with the references'.

    Text too short to have an n-gram repeats nothing: 0.
    """
    if not hypotheses:
        raise DataError(
            "there is nothing to measure: 0 hypotheses",
            remedy="give at least one",
            where="hypotheses",
        )
    counts = np.array([_repeated(line.split(), order) for line in hypotheses], dtype=np.int64)
    value, ends = _share(counts, empty=0.0)
    signature = f"order:{order}|n:{len(hypotheses)}|{BOOTSTRAP}"
    return Metric("repetition", value, signature, ends, higher_is_better=False)


def coverage(hypotheses: Sequence[str], references: Sequence[str]) -> Metric:
    """The share of the references' words that were said at all, each at most as often as meant.

    A proxy for words left untranslated: it needs no alignment, and a synonym counts as missing.
    """
    require_parallel(hypotheses, references, "hypotheses and references")
    bags = [
        (Counter(a.split()), Counter(b.split()))
        for a, b in zip(hypotheses, references, strict=True)
    ]
    counts = np.array([((a & b).total(), b.total()) for a, b in bags], dtype=np.int64)
    value, ends = _share(counts, empty=100.0)
    return Metric("coverage", value, f"unit:word|n:{len(references)}|{BOOTSTRAP}", ends)


def _repeated(words: Sequence[str], order: int) -> tuple[int, int]:
    grams = [tuple(words[start : start + order]) for start in range(len(words) - order + 1)]
    return len(grams) - len(set(grams)), len(grams)


def _share(counts: Sums, empty: float) -> tuple[float, tuple[float, float]]:
    def score(sums: Sums) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.nan_to_num(percent(sums[:, 0], sums[:, 1]), nan=empty)

    return float(score(counts.sum(axis=0, keepdims=True))[0]), bootstrap(counts, score)
