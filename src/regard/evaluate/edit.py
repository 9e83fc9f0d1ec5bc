"""How many edits lie between what was said and what was meant: word, character, phoneme error."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from regard.errors import DataError
from regard.evaluate.interval import BOOTSTRAP, bootstrap, percent
from regard.evaluate.metric import Metric, require_parallel


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """The fewest insertions, deletions and substitutions that turn one into the other (Levenshtein).

    D[i, j] = min(D[i-1, j] + 1, D[i, j-1] + 1, D[i-1, j-1] + [first_i != second_j]), a row at a time.
    """
    numbers: dict[Hashable, int] = {}
    rows, columns = (
        np.array([numbers.setdefault(symbol, len(numbers)) for symbol in symbols], dtype=np.int64)
        for symbols in (first, second)
    )
    ramp = np.arange(len(columns) + 1)
    distances = ramp
    for symbol in rows:
        following = distances + 1
        following[1:] = np.minimum(following[1:], distances[:-1] + (columns != symbol))
        # D[i, j-1] + 1 chains along the row: the least start so far, plus the way from it.
        distances = np.minimum.accumulate(following - ramp) + ramp
    return int(distances[-1])


def word_error(hypotheses: Sequence[str], references: Sequence[str]) -> Metric:
    """WER: word edits for each 100 words of the reference; words are what spaces separate."""
    return _error("WER", "word", str.split, hypotheses, references)


def character_error(hypotheses: Sequence[str], references: Sequence[str]) -> Metric:
    """CER: edits for each 100 characters (Unicode code points, spaces too) of the reference."""
    return _error("CER", "character", tuple, hypotheses, references)


def phoneme_error(hypotheses: Sequence[str], references: Sequence[str]) -> Metric:
    """PER: edits for each 100 phonemes, which spaces separate (`HH AH0 L OW1`)."""
    return _error("PER", "phoneme", str.split, hypotheses, references)


def _error(
    name: str,
    unit: str,
    split: Callable[[str], Sequence[str]],
    hypotheses: Sequence[str],
    references: Sequence[str],
) -> Metric:
    require_parallel(hypotheses, references, "hypotheses and references")
    pairs = [(split(a), split(b)) for a, b in zip(hypotheses, references, strict=True)]
    counts = np.array([(edit_distance(a, b), len(b)) for a, b in pairs], dtype=np.int64)
    edits, total = counts.sum(axis=0)
    if not total:
        raise DataError(
            f"the {len(references)} references hold no {unit}s",
            remedy="an error rate needs some",
            where="references",
        )
    ends = bootstrap(counts, lambda sums: percent(sums[:, 0], sums[:, 1]))
    signature = f"unit:{unit}|norm:none|n:{len(references)}|{unit}s:{total}|{BOOTSTRAP}"
    return Metric(name, float(100 * edits / total), signature, ends, higher_is_better=False)
