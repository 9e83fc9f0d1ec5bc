"""Spans in BIO tags, such as names, and their F1: a span counts when its ends and its type are right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.errors import DataError
from regard.evaluate.classification import require_parallel_tokens
from regard.evaluate.interval import BOOTSTRAP, Sums, Values, bootstrap, percent
from regard.evaluate.metric import Metric

Span = tuple[int, int, str]


def spans(tags: Sequence[str]) -> frozenset[Span]:
    """The (start, end, type) of each span; `end` is one past its last token.

    `B-x` begins a span of type x and `I-x` continues it. An `I-x` with no x before it begins one
    too, as the CoNLL-2000 scorer reads it: a tagger that forgot the B found the words all the same.
    """
    found: list[Span] = []
    start, kind = 0, ""  # the open span; "" means none is open
    for place, tag in enumerate((*tags, "O")):
        mark, dash, type_ = tag.partition("-")
        if tag != "O" and (mark not in ("B", "I") or not dash or not type_):
            raise DataError(
                f"'{tag}' is not a BIO tag", where=f"token {place + 1}", remedy="use O, B-x or I-x"
            )
        if mark == "I" and type_ == kind:
            continue
        if kind:
            found.append((start, place, kind))
        start, kind = place, type_
    return frozenset(found)


def span_f1(predicted: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]) -> Metric:
    """2 |right| / (|predicted| + |gold|) over the spans of all sentences (micro F1).

    With no span on either side there is nothing to find and nothing was made up: 100.
    """
    require_parallel_tokens(predicted, gold)
    counts = np.array(
        [
            (len(guess & truth), len(guess), len(truth))
            for guess, truth in zip(map(spans, predicted), map(spans, gold), strict=True)
        ],
        dtype=np.int64,
    )
    totals = counts.sum(axis=0, keepdims=True)
    signature = f"scheme:BIO|average:micro|sentences:{len(gold)}|spans:{totals[0, 2]}|{BOOTSTRAP}"
    return Metric("span F1", float(_f1(totals)[0]), signature, bootstrap(counts, _f1))


def _f1(sums: Sums) -> Values:
    right, guessed, meant = sums.T
    return np.nan_to_num(percent(2 * right, guessed + meant), nan=100.0)
