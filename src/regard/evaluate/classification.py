"""Right or wrong: accuracy, exact match, token accuracy, and precision, recall and F1 a class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from regard.errors import DataError
from regard.evaluate.metric import (
    BOOTSTRAP,
    Metric,
    Sums,
    Values,
    bootstrap,
    percent,
    require_parallel,
    wilson,
)


def accuracy(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> Metric:
    """The share of answers that are right, with Wilson's interval."""
    require_parallel(predicted, gold, "predictions and labels")
    return _share_equal("accuracy", predicted, gold)


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> Metric:
    """The share of texts that equal their reference character for character."""
    require_parallel(hypotheses, references, "hypotheses and references")
    return _share_equal("exact match", hypotheses, references)


def token_accuracy(
    predicted: Sequence[Sequence[Hashable]], gold: Sequence[Sequence[Hashable]]
) -> Metric:
    """The share of tokens with the right tag; the interval resamples whole sentences."""
    require_parallel_tokens(predicted, gold)
    pairs = zip(predicted, gold, strict=True)
    counts = np.array(
        [(_equal(guess, truth), len(truth)) for guess, truth in pairs], dtype=np.int64
    )
    right, total = counts.sum(axis=0)
    if not total:
        raise DataError(
            f"the {len(gold)} sentences hold no tokens", remedy="give tagged words", where="gold"
        )
    ends = bootstrap(counts, lambda sums: percent(sums[:, 0], sums[:, 1]))
    signature = f"sentences:{len(gold)}|tokens:{total}|{BOOTSTRAP}"
    return Metric("token accuracy", float(100 * right / total), signature, ends)


@final
@dataclass(frozen=True)
class ClassScore:
    """How well one class is found, in per cent; `support` is how often it is the truth."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int


def class_scores(predicted: Sequence[str], gold: Sequence[str]) -> tuple[ClassScore, ...]:
    """Precision, recall and F1 of each class that was meant or predicted, by name.

    A ratio with nothing below the line counts as 0, as a class never predicted was never found.
    """
    require_parallel(predicted, gold, "predictions and labels")
    guessed, meant = Counter(predicted), Counter(gold)
    right = Counter(truth for guess, truth in zip(predicted, gold, strict=True) if guess == truth)
    return tuple(
        ClassScore(
            name,
            precision=_ratio(right[name], guessed[name]),
            recall=_ratio(right[name], meant[name]),
            f1=_ratio(2 * right[name], guessed[name] + meant[name]),
            support=meant[name],
        )
        for name in sorted(guessed.keys() | meant.keys())
    )


def macro_f1(predicted: Sequence[str], gold: Sequence[str]) -> Metric:
    """The plain mean of every class's F1: a rare class weighs as much as a common one."""
    scores = class_scores(predicted, gold)
    value = sum(score.f1 for score in scores) / len(scores)
    return Metric("macro F1", value, f"n:{len(gold)}|classes:{len(scores)}|absent:0")


def require_parallel_tokens(
    predicted: Sequence[Sequence[Hashable]], gold: Sequence[Sequence[Hashable]]
) -> None:
    """Sentences pair up, and within each pair the tokens do."""
    require_parallel(predicted, gold, "predictions and sentences")
    for number, (guess, truth) in enumerate(zip(predicted, gold, strict=True), start=1):
        if len(guess) != len(truth):
            raise DataError(
                f"tags do not pair up: {len(guess)} predicted, {len(truth)} in the reference",
                where=f"sentence {number}",
                remedy="give one tag for each token",
            )


def _share_equal(name: str, predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> Metric:
    right, total = _equal(predicted, gold), len(gold)
    return Metric(name, 100 * right / total, f"n:{total}|ci:wilson", wilson(right, total))


def _equal(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> int:
    return sum(guess == truth for guess, truth in zip(predicted, gold, strict=True))


def _ratio(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


# Spans in BIO tags, such as names, and their F1: a span counts when its ends and its type are right.

Span = tuple[int, int, str]


def spans(tags: Sequence[str]) -> frozenset[Span]:
    """The (start, end, type) of each span; `end` is one past its last token.

    `B-x` begins a span of type x and `I-x` continues it. An `I-x` with no x before it begins one
    too, as the CoNLL-2000 scorer reads it: a tagger that forgot the B found the words all the same.
    """
    spans: list[Span] = []
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
            spans.append((start, place, kind))
        start, kind = place, type_
    return frozenset(spans)


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
