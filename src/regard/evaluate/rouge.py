"""ROUGE: how many words, pairs of words and words in order a summary shares with the right one (Lin 2004).

Texts are compared as lower-case letters and digits, whatever stands between them; of English this is what
the package `rouge-score` does without its stemmer. Each value is the mean over texts of F1 in per cent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from regard.evaluate.metric import (
    BOOTSTRAP,
    Metric,
    Sums,
    Values,
    bootstrap,
    percent,
    require_parallel,
)

_WORDS = re.compile(r"[^\W_]+")
_FINE = 10**9  # sums of integers are exact


def rouge_words(text: str) -> list[str]:
    """What is compared: `It's 3.5 km` is it, s, 3, 5, km."""
    return _WORDS.findall(text.lower())


def rouge_n(written: Sequence[str], due: Sequence[str], order: int) -> float:
    """F1 of n-grams, each counted at most as often as it is due."""
    grams = [
        Counter(tuple(words[n : n + order]) for n in range(len(words) - order + 1))
        for words in (written, due)
    ]
    return _f1((grams[0] & grams[1]).total(), grams[0].total(), grams[1].total())


def rouge_l(written: Sequence[str], due: Sequence[str]) -> float:
    """F1 of the longest common subsequence: words in the same order, with anything between them."""
    return _f1(longest_common(written, due), len(written), len(due))


def longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence, row by row of the classic table."""
    row = [0] * (len(other) + 1)
    for word in one:
        before = 0  # what the row above has to the left
        for place, here in enumerate(other, start=1):
            above = row[place]
            row[place] = before + 1 if word == here else max(above, row[place - 1])
            before = above
    return row[-1]


def rouge(predicted: Sequence[str], references: Sequence[str]) -> list[Metric]:
    """ROUGE-1, ROUGE-2 and ROUGE-L, with intervals over resampled texts."""
    require_parallel(predicted, references)
    written, due = ([rouge_words(text) for text in texts] for texts in (predicted, references))
    both = list(zip(written, due, strict=True))
    values = {
        "ROUGE-1": [rouge_n(a, b, 1) for a, b in both],
        "ROUGE-2": [rouge_n(a, b, 2) for a, b in both],
        "ROUGE-L": [rouge_l(a, b) for a, b in both],
    }
    signature = f"f1|case:lc|tok:alphanumeric|stem:no|mean:texts|n:{len(both)}|{BOOTSTRAP}"
    return [_mean(name, scores, signature) for name, scores in values.items()]


def words_said(
    predicted: Sequence[str], wanted: Sequence[Sequence[str]], name: str, unit: str
) -> Metric | None:
    """The share of some words of the right answers that was said, each as often as wanted."""
    require_parallel(predicted, wanted)
    bags = [
        (Counter(text.split()), Counter(words))
        for text, words in zip(predicted, wanted, strict=True)
    ]
    counts = np.array([((a & b).total(), b.total()) for a, b in bags], dtype=np.int64)
    right, total = counts.sum(axis=0)
    if not total:
        return None
    signature = f"unit:{unit}|words:{total}|n:{len(bags)}|{BOOTSTRAP}"
    ends = bootstrap(counts, lambda sums: percent(sums[:, 0], sums[:, 1]))
    return Metric(name, float(100 * right / total), signature, ends)


def _mean(name: str, values: Sequence[float], signature: str) -> Metric:
    fine = np.rint(np.array(values) * _FINE).astype(np.int64)
    sums = np.column_stack([fine, np.ones(len(values), np.int64)])
    return Metric(name, float(100 * np.mean(values)), signature, bootstrap(sums, _score))


def _score(sums: Sums) -> Values:
    return 100 * sums[:, 0] / (_FINE * sums[:, 1])


def _f1(right: int, written: int, due: int) -> float:
    return 0.0 if right == 0 else 2 * right / (written + due)
