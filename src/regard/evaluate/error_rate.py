"""Error rates: edits between what was said and what was meant, and word links that nobody drew."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from regard.errors import DataError
from regard.evaluate.metric import BOOTSTRAP, Metric, bootstrap, percent, require_parallel


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


# Alignment error rate: how far links drawn by a model are from links drawn by people.

Link = tuple[int, int]

_LINK = re.compile(r"([0-9]{1,9})([-p?])([0-9]{1,9})")


@final
@dataclass(frozen=True)
class Links:
    """The links of one sentence pair, (source, target) from 0; every sure link is possible too."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def links(line: str, where: str = "") -> Links:
    """Read Pharaoh's notation: `0-0 1-2` are sure links; `1?2` or `1p2` is one that is possible."""
    sure: set[Link] = set()
    possible: set[Link] = set()
    for word in line.split():
        match = _LINK.fullmatch(word)
        if match is None:
            raise DataError(f"'{word}' is not a link", where=where, remedy="write links as 0-0 1-2")
        link = (int(match[1]), int(match[3]))
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Links(frozenset(sure), frozenset(possible))


def alignment_error(predicted: Sequence[str], gold: Sequence[str]) -> Metric:
    """AER = 1 - (|A & S| + |A & P|) / (|A| + |S|), in per cent (Och and Ney 2003).

    A are the predicted links, S the sure and P the possible ones. A link that is merely possible
    costs nothing when drawn and nothing when left out.
    """
    require_parallel(predicted, gold, "alignments and references")
    counts = np.array(
        [
            _count(links(guess, f"prediction {line}"), links(truth, f"reference {line}"))
            for line, (guess, truth) in enumerate(zip(predicted, gold, strict=True), start=1)
        ],
        dtype=np.int64,
    )
    good, total = counts.sum(axis=0)
    if not total:
        raise DataError(
            f"the {len(gold)} alignments hold no links",
            remedy="give at least one link",
            where="gold",
        )
    ends = bootstrap(counts, lambda sums: 100 - percent(sums[:, 0], sums[:, 1]))
    signature = f"format:pharaoh|n:{len(gold)}|{BOOTSTRAP}"
    return Metric("AER", float(100 - 100 * good / total), signature, ends, higher_is_better=False)


def _count(guess: Links, truth: Links) -> tuple[int, int]:
    drawn = guess.possible
    return len(drawn & truth.sure) + len(drawn & truth.possible), len(drawn) + len(truth.sure)
