"""Which attention of a translator reads as an alignment: the map a person wants to see first.

The one idea: some words are the same in both languages (names, numbers, full stops), so where they should
look is known without anybody's help. The site, and the heads of it, that look there most are shown first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from regard.box.card import Look
from regard.errors import UsageError
from regard.tasks.axis import Axis
from regard.traces.trace import Trace

# Full of words that every language leaves as they are.
SENTENCES = (
    "Anna met Peter in Berlin in 1998, and Maria stayed in Madrid until 2004.",
    "On Monday Paul bought 25 books, 7 maps and 3 lamps in Oslo.",
    "Version 4.2 of Python runs on Linux, but not on Android 9.",
    "David saw Julia and Martin near the hotel in Paris at 10:30.",
    "In 2012 Thomas drove from Hamburg to Lyon with Sarah, Emma and 2 dogs.",
)


@final
@dataclass(frozen=True)
class Ranked:
    """A site or some heads of it, and how much of their attention lies where it should."""

    look: Look
    score: float


def rank(traces: Iterable[Trace]) -> list[Ranked]:
    """All cross-attention of a model, best first: each site as a whole, its best head, its better half."""
    seen = list(traces)
    per_head: dict[str, list[np.ndarray]] = {}
    for trace in seen:
        pairs = anchors(trace.axes["target"], trace.axes["source"])
        for site in trace.sites:
            if pairs and site.queries == "target" and site.keys == "source":
                rows, columns = zip(*pairs, strict=True)
                hit = trace.by_words(site)[:, rows, columns]
                per_head.setdefault(site.path, []).append(hit)
    if not per_head:
        raise UsageError(
            "no word of these answers stands in its question too",
            where="alignment",
            remedy="take sentences with names and numbers",
        )
    found = [choice for path, hits in per_head.items() for choice in _choices(path, hits)]
    return sorted(found, key=lambda one: -one.score)


def anchors(target: Axis, source: Axis) -> list[tuple[int, int]]:
    """(target, source) places of the words that both sides have exactly once."""
    sides = [Counter(axis.words) for axis in (target, source)]
    shared = [word for word in target.words if all(side[word] == 1 for side in sides)]
    return [
        (target.words.index(word), source.words.index(word))
        for word in shared
        if not word.startswith("<")
    ]


def _choices(path: str, hits: Sequence[np.ndarray]) -> Iterator[Ranked]:
    heads = np.concatenate(hits, axis=1).mean(1)  # (heads,)
    yield Ranked(Look(site=path), float(heads.mean()))
    if len(heads) < 2:
        return
    order = np.argsort(-heads, kind="stable")
    for count in sorted({1, len(heads) // 2}):
        chosen = order[:count]
        look = Look(site=path, heads=tuple(sorted(chosen.tolist())))
        yield Ranked(look, float(heads[chosen].mean()))
