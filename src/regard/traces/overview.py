"""A trace as the page reads it first: question, answer, tokens and sites; its matrices come later.

The studio sends this, and a page that stands alone has it inside: one description, so that one page reads
both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from jaxtyping import Float

from regard.box.card import Look
from regard.errors import UsageError
from regard.tasks.axis import Axis
from regard.text.keep import languages
from regard.text.languages import guess
from regard.traces.trace import Trace

if TYPE_CHECKING:
    from regard.tasks import Task
    from regard.traces.replay import TracedStep


def overview(trace: Trace) -> dict[str, Any]:
    """All of a trace that a page shows at once, as JSON; `sharpness` is that of each head."""
    language, to = written_in(trace)
    return {
        "task": trace.task,
        "language": language,
        "to": to,
        "doubt": trace.doubt,
        "model": trace.model,
        "question": trace.question,
        "answer": trace.answer.as_dict(),
        "steps": [_step(step) for step in trace.steps],
        "axes": {name: axis.describe() for name, axis in trace.axes.items()},
        "sites": [
            {"index": index, **site.describe(), "sharpness": sharpness(site.weights)}
            for index, site in enumerate(trace.sites)
        ],
        "ribbons": [
            {"name": one.name, "axis": one.axis, "values": list(one.values)}
            for one in trace.ribbons
        ],
        "look": trace.site().path if trace.sites else "",
        "look_heads": list(trace.look.heads) if trace.look else [],
        "has_tree": trace.tree is not None,
    }


def task_about(task: type[Task]) -> dict[str, Any]:
    """What a page must know of a task: how it is asked for, and how its answers are read."""
    names = ("verb", "hint", "accepts", "reading", "searches", "continues")
    return {name: getattr(task, name) for name in names}


def candidates(trace: Trace) -> list[list[dict[str, Any]]]:
    """The beam's tree, step by step: every candidate, and whether it was `forced`."""
    given = sum(step.given for step in trace.steps)
    return [
        [
            {
                "parent": node.parent,
                "symbol": node.symbol,
                "id": node.id,
                "log_probability": finite(node.log_probability),
                "total": finite(node.total),
                "fate": node.fate,
                "slot": node.slot,
                "winner": node.winner,
                "forced": number < given,
            }
            for node in step
        ]
        for number, step in enumerate(trace.tree or ())
    ]


def sharpness(weights: Float[np.ndarray, "heads query key"]) -> list[float]:
    """How sharply each head looks: the mean, over queries, of its largest weight."""
    if not weights.size:
        return [0.0] * len(weights)
    return weights.max(-1).mean(-1, dtype=np.float64).tolist()


def written_in(trace: Trace) -> tuple[str, str]:
    """The languages of question and answer, by their codes; empty where the model knows but one pair."""
    source = trace.axes.get("source")
    asked = languages(source.pieces[:1]) if source is not None else ()
    return (guess(trace.question) or "", asked[0]) if asked else ("", "")


def finite(value: float) -> float | None:
    """JSON has no other numbers."""
    return float(value) if math.isfinite(value) else None


def _step(step: TracedStep) -> dict[str, Any]:
    return {
        "symbol": step.symbol,
        "place": step.place,
        "id": step.id,
        "given": step.given,
        "log_probability": finite(step.log_probability),
        "alternatives": [
            {
                "symbol": other.symbol,
                "id": other.id,
                "log_probability": finite(other.log_probability),
            }
            for other in step.alternatives
        ],
    }


# Which attention of a translator reads as an alignment: the map a person wants to see first.
# The one idea: some words are the same in both languages (names, numbers, full stops), so where they should
# look is known without anybody's help. The site, and the heads of it, that look there most are shown first.

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
    choices = [choice for path, hits in per_head.items() for choice in _choices(path, hits)]
    return sorted(choices, key=lambda one: -one.score)


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
