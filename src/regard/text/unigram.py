"""The unigram vocabulary: start with far too many pieces, drop what text misses least (Kudo 2018).

A text's probability is the product of its pieces' probabilities, in its best segmentation. The library
finds the segmentations; it does not train here, because its trainer adds floats in the order of a randomly
seeded hash table, and the same lines would give another vocabulary each time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from tokenizers import Tokenizer
from tokenizers.models import Unigram

from regard.text.count import most_frequent

MOST_WORDS = 100_000  # the rest is too rare to move a score
SEEDS = 8  # times the pieces wanted
KEPT = 0.75  # of the pieces, at each pruning
ROUNDS = 2  # of counting and weighing between prunings
DIGITS = 6


def unigram(
    segments: Counter[str], alphabet: Sequence[str], wanted: int, least: int, longest: int
) -> dict[str, float]:
    """Log probabilities of the letters and of at most `wanted` longer pieces, the likeliest first."""
    words = most_frequent(segments)[:MOST_WORDS]
    uses = _seeds(words, SEEDS * wanted, least, longest)
    while True:
        for _ in range(ROUNDS):
            scores = _scores(uses, alphabet)
            uses = _count(words, scores)
        longer = [piece for piece in uses if len(piece) > 1]
        if len(longer) <= wanted:
            break
        kept = max(wanted, min(len(longer) - 1, int(KEPT * len(longer))))
        missed = {piece: _loss(piece, scores) * uses[piece] for piece in longer}
        best = sorted(longer, key=lambda piece: (-missed[piece], piece))[:kept]
        uses = Counter({piece: uses[piece] for piece in (*alphabet, *best)})
    scores = _scores(uses, alphabet)
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def _seeds(words: Sequence[tuple[str, int]], most: int, least: int, longest: int) -> Counter[str]:
    """Every letter, and the stretches that cover the most text."""
    letters = _stretches(words, 1, frozenset([""]))
    known = frozenset(letters)
    covered: Counter[str] = Counter()
    for length in range(2, longest + 1):
        found = _stretches(words, length, known)
        frequent = {piece: count for piece, count in found.items() if count >= least}
        covered.update({piece: count * length for piece, count in frequent.items()})
        known = frozenset(frequent)
    chosen = most_frequent(covered)[:most]
    return letters + Counter({piece: cover // len(piece) for piece, cover in chosen})


def _stretches(
    words: Sequence[tuple[str, int]], length: int, known: frozenset[str]
) -> Counter[str]:
    """Counts of the stretches of one length; one that is frequent has frequent parts, so ask only those."""
    counts: Counter[str] = Counter()
    for word, count in words:
        for start in range(len(word) - length + 1):
            piece = word[start : start + length]
            if piece[:-1] in known and piece[1:] in known:
                counts[piece] += count
    return counts


def _scores(uses: Mapping[str, int], alphabet: Sequence[str]) -> dict[str, float]:
    """The log probability of each piece; a letter that was never needed alone still gets half a count."""
    counts = dict.fromkeys(alphabet, 0.5) | {piece: n for piece, n in uses.items() if n > 0}
    total = math.log(sum(counts.values()))
    return {piece: round(math.log(n) - total, DIGITS) for piece, n in counts.items()}


def _count(words: Sequence[tuple[str, int]], scores: Mapping[str, float]) -> Counter[str]:
    """How often each piece stands in the best segmentations of all words."""
    pieces = tuple(scores)
    tokenizer = Tokenizer(Unigram(list(scores.items())))
    uses: Counter[str] = Counter()
    segmented = tokenizer.encode_batch_fast([word for word, _ in words])
    for (_, count), encoding in zip(words, segmented, strict=True):
        for number in encoding.ids:
            uses[pieces[number]] += count
    return uses


def _loss(piece: str, scores: Mapping[str, float]) -> float:
    """What one use of a piece would cost if it had to be spelled by others."""
    best = [0.0] + [-math.inf] * len(piece)
    for stop in range(1, len(piece) + 1):
        for start in range(stop):
            part = piece[start:stop]
            if part in scores and part != piece:
                best[stop] = max(best[stop], best[start] + scores[part])
    return scores[piece] - best[-1]
