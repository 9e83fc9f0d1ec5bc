"""CIDEr-D: how much a caption says what people say about this picture, and not about every one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from regard.errors import DataError
from regard.evaluate.metric import BOOTSTRAP, Metric, bootstrap, require_parallel

LONGEST, SIGMA = 4, 6.0
FINE = 1_000_000  # sums are resampled as integers
_WORD = re.compile(r"\w+(?:['’]\w+)*")

Grams = list[Counter[tuple[str, ...]]]  # of one word, of two, ..


def cider(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Metric:
    """1000 times the mean cosine between tf-idf vectors of n-grams, n = 1..4 (Vedantam 2015, the D form).

    `references` has for each picture what people said of it. An n-gram weighs log(pictures / pictures that
    have it); a hypothesis earns no more of one than the reference has; other lengths are damped by
    exp(-(difference)^2 / (2 * 6^2)). Words are lowercased, and punctuation is left out.
    """
    require_parallel(hypotheses, references, "hypotheses and references")
    if not all(references):
        raise DataError("a picture without a reference", "references", "give each at least one")
    known = [[_grams(text) for text in own] for own in references]
    seen: Counter[tuple[str, ...]] = Counter()
    for own in known:
        seen.update({gram for grams in own for counts in grams for gram in counts})
    rare = {gram: math.log(len(known) / count) for gram, count in seen.items()}
    most = math.log(len(known))  # of an n-gram that no reference has

    def scored(text: str, own: Sequence[Grams]) -> float:
        guess = _grams(text)
        return sum(_alike(guess, grams, rare, most) for grams in own) / len(own)

    values = np.array([scored(text, own) for text, own in zip(hypotheses, known, strict=True)])
    counts = np.stack([np.rint(values * FINE).astype(np.int64), np.ones(len(values), np.int64)], 1)
    interval = bootstrap(counts, lambda sums: 1000 * sums[:, 0] / sums[:, 1] / FINE)
    many = "-".join(map(str, sorted({len(own) for own in known})))
    signature = f"n:{len(known)}|nrefs:{many}|form:D|sigma:6|case:lc|words:\\w+|{BOOTSTRAP}"
    return Metric("CIDEr", 1000 * float(values.mean()), signature, interval)


def _grams(text: str) -> Grams:
    words = _WORD.findall(text.lower())
    return [
        Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))
        for n in range(1, LONGEST + 1)
    ]


def _alike(guess: Grams, truth: Grams, rare: dict[tuple[str, ...], float], most: float) -> float:
    """The mean over n of the clipped cosine, damped where lengths differ."""
    apart = guess[0].total() - truth[0].total()
    total = 0.0
    for mine, right in zip(guess, truth, strict=True):
        ours = {gram: count * rare.get(gram, most) for gram, count in mine.items()}
        theirs = {gram: count * rare.get(gram, most) for gram, count in right.items()}
        both = sum(
            min(ours[gram], weight) * weight for gram, weight in theirs.items() if gram in ours
        )
        norms = math.hypot(*ours.values()) * math.hypot(*theirs.values())
        total += both / norms if norms else 0.0
    return total / LONGEST * math.exp(-(apart**2) / (2 * SIGMA**2))
