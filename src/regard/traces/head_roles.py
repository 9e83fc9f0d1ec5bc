"""What each head does: measured over many traces, and named by published rules.

entropy, confidence   how spread out a row of weights is (nats), and its largest weight (Voita 2019)
distance              how far away a head looks, in positions (Vig and Belinkov 2019)
self previous next    weight on the token itself, the one before, the one behind it
first separator       weight on the first token, and on the other special ones: sinks (Clark 2019, Xiao 2024)
duplicate induction   weight on the same token elsewhere; behind an earlier one of the same (Olsson 2022)
rare                  how often the largest weight is on the rarest token of the text (Voita 2019)
alignment             how often a cross-attention's largest weight is on the word that it must come from
position content      shares of the variance of its scores, where they were measured (position_content.py)

Every number has two controls: a head that looks at random, and the same model on the text with its words
shuffled. Rows that could look at one key alone, and special tokens as queries, are not counted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Shaped

from regard.attention.attention import SOURCES, TARGET
from regard.evaluate.error_rate import Links
from regard.models import SOURCE
from regard.tasks.axis import Axis, Grid, Times, Tokens
from regard.traces.head_names import FOUND, MEASURES, OFFSETS, Kind
from regard.traces.overview import anchors
from regard.traces.site import TracedSite
from regard.traces.trace import Trace

POSITIONAL = 0.9  # of the largest weights lie at one offset (Voita 2019)
SYNTACTIC = 0.1  # more often right than the best fixed offset (Voita 2019)
MOST = 0.5  # of the weight, or of the largest weights: "over half" (Clark 2019 of [SEP])
LEAST = 20  # rows, or words in a relation, below which nothing is named
FARTHEST = 8  # the largest offset that is looked for

_SPECIAL = re.compile(r"<(?!0x)[^<>\s]+>|\[[A-Z]+\]|>>\w+<<")
Values = Float[np.ndarray, " heads"]
Weights = Float[np.ndarray, "heads query key"]


@final
@dataclass(frozen=True)
class Arc:
    """A word and the word it depends on, by their numbers among the words of an axis."""

    dependent: int
    head: int
    relation: str


@final
@dataclass(frozen=True)
class Facts:
    """What is known about a text beside its trace: its dependency tree, and who translates whom."""

    axis: str = ""  # the axis whose words the arcs name
    arcs: tuple[Arc, ...] = ()
    links: Links | None = None  # (source word, target word), as the axes of the trace count them


@final
@dataclass(frozen=True)
class Relation:
    """A dependency relation that a head follows, compared with the best fixed offset."""

    name: str
    direction: str  # "to head" or "to dependent"
    accuracy: float
    baseline: float
    offset: int  # of the baseline
    count: int

    @property
    def gain(self) -> float:
        """How much more often the head is right."""
        return self.accuracy - self.baseline


@final
@dataclass(frozen=True)
class Role:
    """What a head is called, and the number that the rule looked at."""

    name: str
    value: float


@final
@dataclass(frozen=True)
class Head:
    """One head and everything measured about it; None where nothing could be counted."""

    path: str
    kind: Kind
    layer: int
    head: int
    measures: Mapping[str, float | None]
    counts: Mapping[str, int]  # rows behind each measure
    offset: int | None = None  # where most of its largest weights lie
    offset_share: float | None = None
    relation: Relation | None = None  # the one with the largest gain
    error: float | None = None  # alignment error rate against links drawn by people
    keys: str = SOURCE  # whose keys it looks at: one of several sources, by its name
    roles: tuple[Role, ...] = ()
    random: Mapping[str, float | None] = field(default_factory=dict)
    shuffled: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def row(self) -> str:
        """`encoder-self 3`: kind and layer; of several sources, which one: `cross 0 of en`."""
        of = "" if self.keys in (SOURCE, TARGET, SOURCES) else f" of {self.keys}"
        return f"{self.kind} {self.layer}{of}"

    @property
    def name(self) -> str:
        """`encoder-self 3.5`: kind, layer and number; of several sources, which one: `cross 0.5 of en`."""
        own = f"{self.kind} {self.layer}"
        return f"{own}.{self.head}{self.row.removeprefix(own)}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON and tables: one flat record, a measure a field."""
        relation = self.relation
        return {
            "path": self.path,
            "kind": self.kind,
            "layer": self.layer,
            "head": self.head,
            "keys": self.keys,
            "roles": [{"name": role.name, "value": role.value} for role in self.roles],
            **{name: self.measures.get(name) for name in MEASURES},
            "offset": self.offset,
            "offset_share": self.offset_share,
            "relation": None if relation is None else relation.name,
            "direction": None if relation is None else relation.direction,
            "relation_accuracy": None if relation is None else relation.accuracy,
            "relation_baseline": None if relation is None else relation.baseline,
            "relation_offset": None if relation is None else relation.offset,
            "relation_count": None if relation is None else relation.count,
            "alignment_error": self.error,
            "counts": dict(self.counts),
            "random": dict(self.random),
            "shuffled": dict(self.shuffled),
        }


def is_special(piece: str) -> bool:
    """Whether a token is a sign of the model's own: `</s>`, `[SEP]`, `>>fr<<`."""
    return _SPECIAL.fullmatch(piece) is not None


@final
class Tally:
    """Sums over the traces of one model, from which the measures of its heads follow.

    `counts` says how often each token stands in a large text, for heads that look at rare ones.
    """

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self._counts = counts or {}
        self._sites: dict[str, _Site] = {}

    def add(self, trace: Trace, facts: Facts | None = None) -> None:
        """Count one more trace."""
        facts = facts or Facts()
        for site in trace.sites:
            self._sites.setdefault(site.path, _Site(site)).add(trace, site, facts, self._counts)

    def heads(self) -> list[Head]:
        """Every head with its measures, not yet named."""
        return [head for site in self._sites.values() for head in site.heads()]


def random_weights(trace: Trace, seed: int = 0) -> Trace:
    """The same trace, as if every head looked at random keys of those it may look at."""
    generator = np.random.default_rng(seed)
    sites = []
    for site in trace.sites:
        drawn = generator.exponential(size=site.weights.shape) * allowed(site)
        total = drawn.sum(-1, keepdims=True)
        weights = np.divide(drawn, total, out=np.zeros_like(drawn), where=total > 0)
        sites.append(replace(site, weights=weights.astype(np.float32)))
    return replace(trace, sites=tuple(sites))


def allowed(site: TracedSite) -> Bool[np.ndarray, "heads query key"]:
    """Which keys each query could look at."""
    return np.isfinite(site.scores) if site.scores is not None else site.weights > 0


def named(
    heads: Sequence[Head], random: Iterable[Head] = (), shuffled: Iterable[Head] = ()
) -> list[Head]:
    """The heads with their roles; `random` and `shuffled` are the same heads as the controls have them."""
    chance = {(head.path, head.head): head for head in random}
    mixed = {(head.path, head.head): head for head in shuffled}
    with_roles = []
    for head in heads:
        place = head.path, head.head
        controls = [_control(others.get(place)) for others in (chance, mixed)]
        whole = replace(head, random=controls[0], shuffled=controls[1])
        with_roles.append(replace(whole, roles=tuple(_roles(whole))))
    return with_roles


def _control(head: Head | None) -> dict[str, float | None]:
    if head is None:
        return {}
    gain = None if head.relation is None else head.relation.gain
    return {**head.measures, "offset_share": head.offset_share, "relation_gain": gain}


def _roles(head: Head) -> Iterable[Role]:
    """The rules; each also asks for twice of what a random head gets."""
    share = head.offset_share
    if share is not None and share >= POSITIONAL and head.offset is not None:
        yield Role(OFFSETS.get(head.offset, f"offset {head.offset:+d}"), share)
    for name in FOUND:
        value = head.measures.get(name)
        chance = head.random.get(name) or 0.0
        enough = head.counts.get(name, 0) >= LEAST
        if value is not None and enough and value > MOST and value > 2 * chance:
            yield Role(name, value)
    relation = head.relation
    if relation is not None and relation.gain >= SYNTACTIC:
        arrow = "→" if relation.direction == "to head" else "←"
        yield Role(f"{relation.name} {arrow}", relation.accuracy)


@final
class _Site:
    """The sums of one site."""

    def __init__(self, site: TracedSite) -> None:
        self._about = site.path, site.kind, site.layer
        self._heads, self._keys = site.heads, site.keys
        self._sums: dict[str, Values] = defaultdict(lambda: np.zeros(self._heads))
        self._rows: Counter[str] = Counter()
        self._offsets = np.zeros((self._heads, 2 * FARTHEST + 1))
        self._possible = np.zeros(2 * FARTHEST + 1)
        self._right: dict[tuple[str, str], Values] = defaultdict(lambda: np.zeros(self._heads))
        self._between: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
        self._links = np.zeros((self._heads, 2))

    def add(self, trace: Trace, site: TracedSite, facts: Facts, counts: Mapping[str, int]) -> None:
        """Count one more trace of this site."""
        if site.heads != self._heads:
            raise ValueError(f"{site.path} had {self._heads} heads before, and has {site.heads}")
        queries, keys = trace.axes[site.queries], trace.axes[site.keys]
        may = allowed(site)
        real_query, real_key = _real(queries), _real(keys)
        judged = real_query & (may[0].sum(-1) > 1)
        weights = site.weights.astype(np.float64)
        lengths = may[:, judged].sum(-1)
        if not judged.any() or not (lengths > 0).all():
            return
        rows = weights[:, judged]
        self._count(
            "entropy", -np.where(rows > 0, rows * np.log(np.maximum(rows, 1e-30)), 0).sum(-1)
        )
        self._marks(rows, judged, real_key)
        best = np.where(real_key, weights, -1.0)
        self._count("confidence", best[:, judged].max(-1))
        if site.queries == site.keys:
            self._within(weights, may[0], judged, keys, best)
        if site.queries == site.keys and isinstance(keys, Tokens):
            self._rarest(best, may[0], judged, real_key, keys, counts)
        by_words = trace.by_words(site)
        if site.queries == site.keys == facts.axis and facts.arcs:
            self._syntax(by_words, keys, facts.arcs)
        if site.faces_source and site.kind in ("cross", "rnn"):
            self._alignment(by_words, queries, keys, facts.links)

    def _count(self, name: str, rows: Shaped[np.ndarray, "heads rows"]) -> None:
        self._sums[name] += rows.sum(-1)
        self._rows[name] += rows.shape[-1]

    def _marks(self, rows: Weights, judged: np.ndarray, real_key: np.ndarray) -> None:
        """Sinks: the first token, seen from all behind it, and every other special one."""
        self._count("first", rows[:, np.flatnonzero(judged) > 0, 0])
        others = ~real_key
        others[0] = False
        if others.any():
            self._count("separator", rows[..., others].sum(-1))

    def _within(
        self, weights: Weights, may: np.ndarray, judged: np.ndarray, keys: Axis, best: Weights
    ) -> None:
        """What only a sequence that reads itself has: distances, offsets and repetitions.

        Cells of a picture stand in no order; moments of a sound do, but none is another one's copy.
        """
        if isinstance(keys, Grid):
            return
        size = len(keys)
        apart = np.arange(size)[None] - np.arange(size)[:, None]  # key - query
        self._count("distance", (weights * np.abs(apart)).sum(-1)[:, judged])
        for name, offset in (("self", 0), ("previous", -1), ("next", 1)):
            there = judged & ((apart == offset) & may).any(-1)
            self._count(name, (weights * (apart == offset)).sum(-1)[:, there])
        peaks = best.argmax(-1) - np.arange(size)
        words = may & (
            best[0] >= 0
        )  # where the place at an offset is a special token, no word is missed
        for offset in range(-FARTHEST, FARTHEST + 1):
            there = judged & ((apart == offset) & words).any(-1)
            self._offsets[:, offset + FARTHEST] += (peaks == offset)[:, there].sum(-1)
            self._possible[offset + FARTHEST] += there.sum()
        if isinstance(keys, Times):
            return
        pieces = np.array(keys.pieces)
        same = (pieces[:, None] == pieces[None]) & may & (apart != 0)
        there = judged & same.any(-1)
        self._count("duplicate", (weights * same).sum(-1)[:, there])
        behind = np.zeros_like(same)
        behind[:, 1:] = (same & (apart < 0))[:, :-1]
        behind &= may & (apart < 0)
        there = judged & behind.any(-1)
        self._count("induction", (weights * behind).sum(-1)[:, there])

    def _rarest(
        self,
        best: Weights,
        may: np.ndarray,
        judged: np.ndarray,
        real_key: np.ndarray,
        keys: Axis,
        counts: Mapping[str, int],
    ) -> None:
        """Only texts whose rarest token is one alone are judged, by queries that may look at it."""
        known = [counts.get(piece, 0) for piece in keys.pieces]
        real = [number for number, is_real in enumerate(real_key) if is_real and known[number]]
        if len(real) < 3 or len(real) < real_key.sum():
            return
        least = min(known[number] for number in real)
        rare = [number for number in real if known[number] == least]
        if len(rare) == 1:
            seen = judged & may[:, rare[0]]
            self._count("rare", best.argmax(-1)[:, seen] == rare[0])

    def _syntax(self, by_words: Weights, words: Axis, arcs: Sequence[Arc]) -> None:
        real = np.array([not is_special(word) for word in words.words])
        peaks = np.where(real, by_words, -1.0).argmax(-1)
        for arc in arcs:
            for place, goal, way in (
                (arc.dependent, arc.head, "to head"),
                (arc.head, arc.dependent, "to dependent"),
            ):
                self._right[arc.relation, way] += peaks[:, place] == goal
                self._between[arc.relation, way][goal - place] += 1

    def _alignment(self, by_words: Weights, queries: Axis, keys: Axis, links: Links | None) -> None:
        real = np.array([not is_special(word) for word in keys.words])
        if not real.any():
            return
        peaks = np.where(real, by_words, -1.0).argmax(-1)
        pairs = anchors(queries, keys)
        if pairs:
            right = np.stack([peaks[:, target] == source for target, source in pairs], 1)
            self._count("alignment", right)
        if links is not None:
            targets = [n for n, word in enumerate(queries.words) if not is_special(word)]
            for head in range(self._heads):
                drawn = {(int(peaks[head, target]), target) for target in targets}
                good = len(drawn & links.sure) + len(drawn & links.possible)
                self._links[head] += good, len(drawn) + len(links.sure)

    def heads(self) -> list[Head]:
        """Each head of the site."""
        return [self._head(number) for number in range(self._heads)]

    def _head(self, number: int) -> Head:
        measures: dict[str, float | None] = {
            name: float(self._sums[name][number] / self._rows[name]) if self._rows[name] else None
            for name in MEASURES
        }
        offset, share = self._offset(number)
        good, total = self._links[number]
        return Head(
            *self._about,
            number,
            measures,
            dict(self._rows),
            offset,
            share,
            self._relation(number),
            float(1 - good / total) if total else None,
            self._keys,
        )

    def _offset(self, head: int) -> tuple[int | None, float | None]:
        """The offset of most largest weights, among rows that have it; offsets that few have are skipped."""
        most = self._possible.max(initial=0)
        common = (self._possible >= LEAST) & (self._possible >= most / 2)
        if not common.any():
            return None, None
        shares = np.where(common, self._offsets[head] / np.maximum(self._possible, 1), -1)
        best = int(shares.argmax())
        return best - FARTHEST, float(shares[best])

    def _relation(self, head: int) -> Relation | None:
        """The relation in which it is most ahead of the best fixed offset."""
        relations = []
        for (name, way), offsets in self._between.items():
            total = offsets.total()
            if total >= LEAST:
                offset, often = offsets.most_common(1)[0]
                accuracy = float(self._right[name, way][head] / total)
                relations.append(Relation(name, way, accuracy, often / total, offset, total))
        return max(relations, key=lambda one: one.gain, default=None)


def _real(axis: Axis) -> Bool[np.ndarray, " place"]:
    return np.array([not is_special(piece) for piece in axis.pieces], bool)
