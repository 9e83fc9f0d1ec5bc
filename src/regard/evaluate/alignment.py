"""Alignment error rate: how far links drawn by a model are from links drawn by people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from regard.errors import DataError
from regard.evaluate.interval import BOOTSTRAP, bootstrap, percent
from regard.evaluate.metric import Metric, require_parallel

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
