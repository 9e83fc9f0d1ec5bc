"""A trace as the page reads it first: question, answer, tokens and sites; its matrices come later.

The studio sends this, and a page that stands alone has it inside: one description, so that one page reads
both.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from regard.text.keep import languages
from regard.text.language import guess

if TYPE_CHECKING:
    from regard.tasks import Task
    from regard.traces.step import TracedStep
    from regard.traces.trace import Trace


def overview(trace: Trace) -> dict[str, Any]:
    """All of a trace that a page shows at once, as JSON; `sharpness` is that of each head."""
    language, to = written_in(trace)
    return {
        "task": trace.task,
        "language": language,
        "to": to,
        "model": trace.model,
        "question": trace.question,
        "answer": trace.answer.as_dict(),
        "steps": [_step(step) for step in trace.steps],
        "axes": {
            name: {
                "pieces": list(axis.pieces),
                "word_ids": list(axis.word_ids),
                "words": list(axis.words),
            }
            for name, axis in trace.axes.items()
        },
        "sites": [
            {"index": index, **site.describe(), "sharpness": sharpness(site.weights)}
            for index, site in enumerate(trace.sites)
        ],
        "look": trace.site().path if trace.sites else "",
        "look_heads": list(trace.look.heads) if trace.look else [],
        "has_tree": trace.tree is not None,
    }


def task_about(task: type[Task]) -> dict[str, Any]:
    """What a page must know of a task: how it is asked for, and how its answers are read."""
    names = ("verb", "hint", "reading", "searches", "continues")
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
