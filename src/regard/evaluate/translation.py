"""BLEU and chrF by sacrebleu, with its signature: the numbers other people can compare with.

The interval is sacrebleu's: 1,000 test sets drawn with replacement, seed 12345 (or its environment
variable SACREBLEU_SEED), mean ± half the width of their middle 95%. The signature records both.
Past `INTERVAL_LIMIT` sentences, where it would be very narrow, there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np

from regard.errors import DataError, UsageError, nearest
from regard.evaluate.classification import exact_match
from regard.evaluate.metric import (
    BOOTSTRAP,
    RESAMPLES,
    Metric,
    Sums,
    bootstrap,
    percent,
    require_parallel,
)

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF


# Those of sacrebleu's tokenizers that need no download and no other package.
TOKENIZERS = ("13a", "char", "intl", "none", "zh")

# sacrebleu holds all resamples of all sentences in memory at once: about 1 GB at this many.
INTERVAL_LIMIT = 10_000

# One list of references, or several such lists, one for each translator.
References = Sequence[str] | Sequence[Sequence[str]]


def bleu(
    hypotheses: Sequence[str],
    references: References,
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
    interval: bool = True,
) -> Metric:
    """Geometric mean of clipped n-gram precisions, n = 1..4, times a brevity penalty (Papineni 2002).

    Give detokenised text; `tokenize="none"` is for text that was tokenised beforehand.
    """
    return _measure(bleu_of(lowercase, tokenize), "BLEU", hypotheses, references, interval)


def chrf(
    hypotheses: Sequence[str],
    references: References,
    *,
    lowercase: bool = False,
    word_order: int = 0,
    interval: bool = True,
) -> Metric:
    """F2 of character n-grams, n = 1..6 (Popović 2015); `word_order=2` is chrF++."""
    name = "chrF2" + "+" * word_order
    return _measure(chrf_of(lowercase, word_order), name, hypotheses, references, interval)


def chrf_of(lowercase: bool, word_order: int) -> CHRF:
    """The measure itself, whose resampled scores are NumPy's numbers but plain zeros: no mean takes both."""
    from sacrebleu.metrics.chrf import CHRF  # loads forty modules, which answering does not need

    class Chrf(CHRF):
        def _compute_f_score(self, statistics: Any) -> float:
            return float(super()._compute_f_score(statistics))

    return Chrf(lowercase=lowercase, word_order=word_order)


def check_tokenizer(tokenize: str) -> None:
    """Refuse what is none of `TOKENIZERS`, before a long test is answered."""
    if tokenize not in TOKENIZERS:
        raise UsageError(
            f"there is no BLEU tokenizer '{tokenize}'",
            where="tokenize",
            remedy=nearest(tokenize, TOKENIZERS),
        )


def bleu_of(lowercase: bool, tokenize: str) -> BLEU:
    """The measure itself, with one of `TOKENIZERS`."""
    check_tokenizer(tokenize)
    from sacrebleu.metrics.bleu import BLEU

    # Text said to be tokenised already deserves no warning that it looks so.
    return BLEU(lowercase=lowercase, tokenize=tokenize, force=tokenize == "none")


def reference_lists(hypotheses: Sequence[str], references: References) -> list[list[str]]:
    """References as sacrebleu wants them, a list of lists, each as long as the hypotheses."""
    single = not references or isinstance(references[0], str)
    lists = [list(references)] if single else [list(one) for one in references]
    for one in lists:
        require_parallel(hypotheses, one, "hypotheses and references")
    return lists  # type: ignore[return-value]


def around(mean: SupportsFloat, margin: SupportsFloat) -> tuple[float, float]:
    """Mean ± margin as two ends."""
    return float(mean) - float(margin), float(mean) + float(margin)


def _measure(
    measure: BLEU | CHRF,
    name: str,
    hypotheses: Sequence[str],
    references: References,
    interval: bool,
) -> Metric:
    lists = reference_lists(hypotheses, references)
    interval = interval and len(hypotheses) <= INTERVAL_LIMIT
    resamples = RESAMPLES if interval else 1
    score = measure.corpus_score(list(hypotheses), lists, n_bootstrap=resamples)
    ends = around(score._mean, score._ci) if interval else None
    return Metric(name, float(score.score), str(measure.get_signature()), ends)


def judge_texts(
    predicted: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> list[Metric]:
    """Texts against one or several lists of right ones; exactly right is only against one list."""
    scores = [
        bleu(predicted, references, lowercase=lowercase, tokenize=tokenize),
        chrf(predicted, references, lowercase=lowercase),
    ]
    return [*scores, exact_match(predicted, references[0])] if len(references) == 1 else scores


# The classic faults of translation without good attention: saying things twice, leaving them out.


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
    bags = _bags(hypotheses, references)
    counts = np.array([((a & b).total(), b.total()) for a, b in bags], dtype=np.int64)
    value, ends = _share(counts, empty=100.0)
    return Metric("coverage", value, f"unit:word|n:{len(references)}|{BOOTSTRAP}", ends)


def said_twice(hypotheses: Sequence[str], references: Sequence[str]) -> Metric:
    """The share of said words that are one too many: said before, not meant again (over-translation, L14).

    A word that is meant once and said three times counts twice, a wrong word that is said once not at all.
    """
    pairs = _bags(hypotheses, references)
    extra = [
        (sum(max(0, count - max(1, right[word])) for word, count in said.items()), said.total())
        for said, right in pairs
    ]
    return _fault("said twice", extra, len(references))


def never_said(hypotheses: Sequence[str], references: Sequence[str]) -> Metric:
    """The share of the references' words that the answer does not have even once (under-translation, L14)."""
    pairs = _bags(hypotheses, references)
    lost = [
        (sum(count for word, count in right.items() if not said[word]), right.total())
        for said, right in pairs
    ]
    return _fault("never said", lost, len(references))


def _bags(
    hypotheses: Sequence[str], references: Sequence[str]
) -> list[tuple[Counter[str], Counter[str]]]:
    require_parallel(hypotheses, references, "hypotheses and references")
    both = zip(hypotheses, references, strict=True)
    return [(Counter(one.split()), Counter(other.split())) for one, other in both]


def _fault(name: str, counts: Sequence[tuple[int, int]], texts: int) -> Metric:
    value, ends = _share(np.array(counts, dtype=np.int64), empty=0.0)
    return Metric(name, value, f"unit:word|n:{texts}|{BOOTSTRAP}", ends, higher_is_better=False)


def _repeated(words: Sequence[str], order: int) -> tuple[int, int]:
    grams = [tuple(words[start : start + order]) for start in range(len(words) - order + 1)]
    return len(grams) - len(set(grams)), len(grams)


def _share(counts: Sums, empty: float) -> tuple[float, tuple[float, float]]:
    def score(sums: Sums) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.nan_to_num(percent(sums[:, 0], sums[:, 1]), nan=empty)

    return float(score(counts.sum(axis=0, keepdims=True))[0]), bootstrap(counts, score)
