"""When each word of an answer was said, as far as attention to the sound tells; and whether it went in order.

A state of the encoder belongs to one word, or to the silence around words, and words come in their order. Of
all such divisions the one is taken in which words have the most of their own attention.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from regard.errors import UsageError
from regard.tasks.axis import Times, Tokens, joined
from regard.traces.head_roles import is_special
from regard.traces.site import TracedSite
from regard.traces.trace import Trace

SILENCE = 0.1  # what a state must have of a word's attention to be more than silence


class WordTime(NamedTuple):
    """A word, and from when to when it was said, in seconds."""

    word: str
    begin: float
    end: float


def word_times(trace: Trace, site: str | None = None) -> tuple[WordTime, ...]:
    """The words of an answer with their times, by the attention of one site, by default the aligning one."""
    weights, words, times = _facing(trace, site)
    spans = divided(weights)
    edges = state_edges(times)
    return tuple(
        WordTime(word, float(edges[first]), float(edges[end]))
        for word, (first, end) in zip(words, spans, strict=True)
    )


def monotony(trace: Trace, site: str | None = None) -> float:
    """Spearman's rank correlation between the steps of an answer and the moments they looked at.

    1 where every step looks later than the one before; NaN where there are fewer than two steps. The end
    symbol is no step of what was said.
    """
    chosen, times = _site(trace, site)
    pieces = trace.axes[chosen.queries].pieces
    spoken = [number for number, piece in enumerate(pieces) if not is_special(piece)]
    looked = chosen.weights.mean(0)[spoken] @ np.array(times.seconds)
    if len(looked) < 2:
        return float("nan")
    steps = np.arange(len(looked)) - (len(looked) - 1) / 2
    ranks = _ranks(looked) - (len(looked) - 1) / 2
    spread = np.sqrt((steps**2).sum() * (ranks**2).sum())
    return float(steps @ ranks / spread) if spread else 0.0


def divided(weights: Float[np.ndarray, "word state"]) -> list[tuple[int, int]]:
    """Each word's states, [first, end): in order, none shared, each word at least one, the rest silence.

    best[r, j] = gain[r, j] + max(best[r, j - 1], best[r - 1, j - 1], best[r - 2, j - 1]) over the rows
    silence, word, silence, .., silence; the last of the three goes from word to word, past an empty silence.
    Where there are more words than states, words share.
    """
    words, states = weights.shape
    if words > states:
        return [(min(states - 1, n * states // words),) * 2 for n in range(words)]
    gain = np.full((2 * words + 1, states), SILENCE)
    gain[1::2] = weights
    best = np.full((2 * words + 1, states), -np.inf)
    came = np.zeros((2 * words + 1, states), np.int64)
    best[:2, 0] = gain[:2, 0]
    for state in range(1, states):
        for row in range(2 * words + 1):
            # From the same row, from the one before, or from word to word without a silence between.
            rows = [row, row - 1] + ([row - 2] if row % 2 else [])
            before = [best[one, state - 1] if one >= 0 else -np.inf for one in rows]
            came[row, state] = rows[int(np.argmax(before))]
            best[row, state] = max(before) + gain[row, state]
    row = 2 * words if best[2 * words, -1] > best[2 * words - 1, -1] else 2 * words - 1
    taken: list[list[int]] = [[] for _ in range(2 * words + 1)]
    for state in range(states - 1, -1, -1):
        taken[row].append(state)
        row = int(came[row, state])
    return [(min(own), max(own) + 1) for own in taken[1::2]]


def state_edges(times: Times) -> Float[np.ndarray, " edge"]:
    """Where each state begins, half-way from the one before, and where the last one ends: with the sound."""
    middles = np.array(times.seconds)
    between = (middles[1:] + middles[:-1]) / 2
    end = max(times.until, float(middles[-1]))
    return np.concatenate([[0.0], between, [end]])


def _facing(
    trace: Trace, site: str | None
) -> tuple[Float[np.ndarray, "word state"], list[str], Times]:
    """How much of each word's attention every state had, summed over its pieces; the words; the moments."""
    chosen, times = _site(trace, site)
    axis = trace.axes[chosen.queries]
    axis = joined(axis) if isinstance(axis, Tokens) else axis
    said = np.array([piece != "▁" for piece in axis.pieces])  # a space is heard as silence
    heard = chosen.weights.mean(0) * said[:, None]
    whole = np.zeros((len(axis.words), heard.shape[1]))
    np.add.at(whole, np.array(axis.word_ids, np.int64), heard)
    kept = [number for number, word in enumerate(axis.words) if not is_special(word)]
    return whole[kept], [axis.words[number].strip("▁ ") for number in kept], times


def _site(trace: Trace, site: str | None) -> tuple[TracedSite, Times]:
    chosen = trace.site(site)
    times = trace.axes[chosen.keys]
    if not isinstance(times, Times):
        raise UsageError(
            f"'{chosen.path}' looks at no sound",
            where="site",
            remedy="choose an attention from the answer to a sound",
        )
    return chosen, times


def _ranks(values: Float[np.ndarray, " number"]) -> Float[np.ndarray, " number"]:
    """The place of each in their order; those that are equal share the mean of theirs."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    firsts = np.cumsum(counts) - counts
    return (firsts + (counts - 1) / 2)[group]
