"""How much of a head's score is position, and how much is content (L93).

By shuffling: random words, each one token, are read in many random orders. A score is then explained by the
pair of positions, by the pair of words, or by neither alone (position and content together, or context): two
one-way analyses of variance, whose variance components are corrected for the number of orders. This needs
nothing but traces, and so serves every layer of every model, however it knows positions.

A token's score with itself is left out: the same position is always the same word.

By parts: where positions are added to the input, the first layer's score (e + p)' Q K' (e + p) is exactly the
sum of content with content, position with position, and the two mixed terms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import Heads, Rotary
from regard.errors import UsageError
from regard.layers import Embedding, LayerNorm, Residual
from regard.traces.head_roles import Head, is_special
from regard.traces.head_survey import Look, Sentence
from regard.traces.trace import Trace

TEXTS, WORDS, ORDERS = 6, 8, 12
ROUNDED = 1e-5  # of the largest score: a sum of float32 products is no more exact

Place = tuple[str, int]  # a site and a head of it


@final
@dataclass(frozen=True)
class Shares:
    """Of the variance of a head's scores: what positions explain, what words explain, and the rest."""

    position: float
    content: float

    @property
    def rest(self) -> float:
        """What takes both, or the words around them."""
        return max(0.0, 1 - self.position - self.content)


def by_shuffling(
    look: Look,
    sentences: Sequence[Sentence],
    *,
    texts: int = TEXTS,
    orders: int = ORDERS,
    seed: int = 0,
) -> dict[Place, Shares]:
    """The shares of every head, by random words of these sentences in random orders."""
    generator = np.random.default_rng(seed)
    sources = _single(look, sentences, "source", "inputs")
    targets = _single(look, sentences, "target")
    draws: dict[Place, list[Shares]] = defaultdict(list)
    for _ in range(texts):
        cells: dict[Place, _Cells] = defaultdict(_Cells)
        words = [_drawn(generator, side) for side in (sources, targets)]
        for _ in range(orders):
            text, target = (" ".join(generator.permutation(side)) for side in words)
            _collect(look(text, target), cells)
        for place, own in cells.items():
            if (shares := own.shares()) is not None:
                draws[place].append(shares)
    return {
        place: Shares(*(float(np.mean(side)) for side in zip(*map(_pair, own), strict=True)))
        for place, own in draws.items()
    }


def with_shares(heads: Sequence[Head], shares: dict[Place, Shares]) -> list[Head]:
    """The heads, with both shares among their measures."""
    measured = []
    for head in heads:
        own = shares.get((head.path, head.head))
        more = {} if own is None else {"position": own.position, "content": own.content}
        measured.append(replace(head, measures={**head.measures, **more}))
    return measured


def _pair(shares: Shares) -> tuple[float, float]:
    return shares.position, shares.content


def _single(look: Look, sentences: Sequence[Sentence], *axes: str) -> list[str]:
    """Words that are one token each, as far as the traces of some sentences show."""
    names: set[str] = set()
    for sentence in sentences:
        trace = look(sentence.text, sentence.target)
        name = next((name for name in axes if name in trace.axes), None)
        if name is None:
            return []
        axis = trace.axes[name]
        sizes = np.bincount(axis.word_ids, minlength=len(axis.words))
        names |= {
            word
            for word, size in zip(axis.words, sizes, strict=True)
            if size == 1 and not is_special(word) and word.isalnum()
        }
        if len(names) > 20 * WORDS:
            break
    return sorted(names)


def _drawn(generator: np.random.Generator, words: Sequence[str]) -> list[str]:
    if not words:
        return []
    if len(words) < 3:
        raise UsageError(
            "too few words of these sentences are one token each",
            where="data",
            remedy="give more sentences",
        )
    return generator.choice(words, min(WORDS, len(words)), replace=False).tolist()


@final
class _Cells:
    """The scores of one head over all orders of one text, each with its pair of positions and of words."""

    def __init__(self) -> None:
        self._values: list[float] = []
        self._largest = 0.0
        self._positions: list[tuple[int, int]] = []
        self._words: list[tuple[str, str]] = []

    def add(
        self, scores: Float[np.ndarray, "query key"], rows: Sequence[str], columns: Sequence[str]
    ) -> None:
        """Rows are centred: a constant added to all scores of a query changes no weight."""
        for row, name in enumerate(rows):
            finite = np.flatnonzero(np.isfinite(scores[row]))  # a token with itself is not
            if len(finite) < 2:
                continue
            own = scores[row, finite]
            self._largest = max(self._largest, float(np.abs(own).max()))
            centred = own - own.mean()
            self._values += centred.tolist()
            self._positions += [(row, column) for column in finite.tolist()]
            self._words += [(name, columns[column]) for column in finite.tolist()]

    def shares(self) -> Shares | None:
        """None where all scores are the same, but for what float32 rounds away."""
        values = np.array(self._values)
        if len(values) < 2 or values.std() <= ROUNDED * self._largest:
            return None
        return Shares(_component(values, self._positions), _component(values, self._words))


def _component(values: Float[np.ndarray, " value"], groups: Sequence[object]) -> float:
    """The share of variance between groups: the intraclass correlation of a one-way random-effects model."""
    names = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    owner = np.array([names[group] for group in groups])
    sizes = np.bincount(owner).astype(float)
    total, count = len(values), len(sizes)
    if not 1 < count < total:
        return 0.0
    means = np.bincount(owner, values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum())
    within = max(0.0, float(((values - values.mean()) ** 2).sum()) - between)
    noise = within / (total - count)
    typical = (total - (sizes**2).sum() / total) / (count - 1)
    signal = max(0.0, (between / (count - 1) - noise) / typical)
    return signal / (signal + noise) if signal + noise > 0 else 0.0


def _collect(trace: Trace, cells: dict[Place, _Cells]) -> None:
    for site in trace.sites:
        queries, keys = trace.axes[site.queries], trace.axes[site.keys]
        rows, columns = (
            [n for n, piece in enumerate(axis.pieces) if not is_special(piece)]
            for axis in (queries, keys)
        )
        if site.scores is None or len(columns) < 2:
            continue
        names = [
            [axis.pieces[n] for n in some] for axis, some in ((queries, rows), (keys, columns))
        ]
        for head in range(site.heads):
            scores = site.scores[head][np.ix_(rows, columns)].astype(np.float64)
            if site.queries == site.keys:
                np.fill_diagonal(scores, -np.inf)
            cells[site.path, head].add(scores, *names)


@torch.no_grad()
def by_parts(
    embedding: Embedding, residual: Residual, heads: Heads, ids: Tensor, *, causal: bool = False
) -> Float[np.ndarray, "heads 3"] | None:
    """Of the first layer's scores: shares of position, of content, and of both mixed; they add up to 1.

    The share of a term is its covariance with the score over the keys of a row, over the score's variance.
    None, where positions are not added to the input.
    """
    if (
        embedding.position is None
        or embedding.norm is not None
        or isinstance(heads.position, Rotary)
    ):
        return None
    content = embedding.table(ids) * embedding.scale
    position = embedding.position.table(len(ids)).to(content)
    parts = _opened(residual, content, position)
    q_content, q_position, q_constant = (_heads(heads, heads.query, part) for part in parts)
    k_content, k_position = (_heads(heads, heads.key, part) for part in parts[:2])
    if heads.query.bias is not None:
        q_constant = q_constant + heads.query.bias.unflatten(0, (heads.num_heads, 1, -1))
    terms = [
        (q_position + q_constant) @ k_position.mT,
        (q_content + q_constant) @ k_content.mT,
        q_content @ k_position.mT + q_position @ k_content.mT,
    ]
    seen = torch.ones(len(ids), len(ids), dtype=torch.bool)
    seen = seen.tril() if causal else seen
    centred = [_centred(term.double(), seen) for term in terms]
    whole = centred[0] + centred[1] + centred[2]
    total = (whole * whole).sum((1, 2)).clamp(min=1e-30)
    return torch.stack([(term * whole).sum((1, 2)) / total for term in centred], 1).numpy()


def _opened(residual: Residual, content: Tensor, position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What the heads see of each part; a norm is linear once the deviation of the whole is known."""
    norm = residual.norm
    if norm is None or residual.order != "pre":
        return content, position, torch.zeros_like(content)
    whole = content + position
    gain = 1.0 if norm.weight is None else norm.weight
    shift = torch.zeros_like(whole) if norm.bias is None else norm.bias.expand_as(whole)
    deviation = _deviation(norm, whole)
    split = [
        (part - part.mean(-1, keepdim=True)) / deviation * gain for part in (content, position)
    ]
    return split[0], split[1], shift


def _deviation(norm: LayerNorm, states: Tensor) -> Tensor:
    variance = states.var(-1, keepdim=True, correction=0)
    if norm.form == "standard":
        return (variance + norm.eps).sqrt()
    return variance.sqrt() + norm.eps


def _heads(heads: Heads, layer: torch.nn.Linear, part: Tensor) -> Tensor:
    """A part through the projection of queries or keys, without its bias."""
    return (part @ layer.weight.T).unflatten(-1, (heads.num_heads, -1)).transpose(0, 1)


def _centred(scores: Tensor, seen: Tensor) -> Tensor:
    mean = (scores * seen).sum(-1, keepdim=True) / seen.sum(-1, keepdim=True)
    return (scores - mean) * seen
