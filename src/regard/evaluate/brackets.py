"""Labelled brackets: how many constituents of a parse are right, counted as EVALB does (Black 1991).

A constituent is right when its label, its first and its last word are. Punctuation belongs to none, tags and
the name of the whole do not count, and PRT is ADVP. A sentence without an answer has no right constituent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
from regard.text.trees import PUNCTUATION, Tree, brackets


def counts(predicted: Tree | None, gold: Tree) -> tuple[int, int, int]:
    """How many constituents are right, how many were said, and how many there are."""
    spelled = list(gold.tagged())
    left_out = frozenset(number for number, (_, tag) in enumerate(spelled) if tag in PUNCTUATION)
    due = brackets(gold, left_out)
    if predicted is None or len(predicted.words) != len(spelled):
        return 0, 0, due.total()
    ours = brackets(predicted, left_out)
    return (ours & due).total(), ours.total(), due.total()


def bracket_scores(predicted: Sequence[Tree | None], gold: Sequence[Tree]) -> list[Metric]:
    """F1, precision and recall of all constituents together, and the share of sentences with no fault."""
    require_parallel(predicted, gold, "parses and trees")
    counted = np.array([counts(a, b) for a, b in zip(predicted, gold, strict=True)], dtype=np.int64)
    signature = f"evalb|labels:yes|punctuation:out|PRT:ADVP|n:{len(gold)}|{BOOTSTRAP}"
    whole = np.array(
        [(int(right == said == due), 1, 1) for right, said, due in counted.tolist()], dtype=np.int64
    )
    return [
        _metric("bracket F1", counted, _f1, signature),
        _metric("bracket precision", counted, _precision, signature),
        _metric("bracket recall", counted, _recall, signature),
        _metric("whole trees", whole, _precision, signature),
    ]


def _metric(name: str, counts: Sums, score: Callable[[Sums], Values], signature: str) -> Metric:
    value = float(score(counts.sum(axis=0, keepdims=True))[0])
    return Metric(name, value, signature, bootstrap(counts, score))


def _f1(sums: Sums) -> Values:
    return np.nan_to_num(percent(2 * sums[:, 0], sums[:, 1] + sums[:, 2]))


def _precision(sums: Sums) -> Values:
    return np.nan_to_num(percent(sums[:, 0], sums[:, 1]))


def _recall(sums: Sums) -> Values:
    return np.nan_to_num(percent(sums[:, 0], sums[:, 2]))
