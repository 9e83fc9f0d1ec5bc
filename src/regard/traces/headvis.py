"""Heads as HeadVis shows them (Luger, Kamath and others 2026): the folder `data` that its page reads.

config.json           the model, its heads, and the metrics that can be axes of its scatter plot
scatter_data.json     one row a head: layer, head, and its metrics
heads/L{l}H{h}.json   texts by how strongly the head looks (10 intervals), their maps as sparse numbers
umap/L{l}H{h}.json    queries, keys and values at its strongest weights, along three principal components
server_config.json, attributions/manifest.json   empty: no server stands behind the page

Its maps are square, so one kind of self-attention is written at a time; cross-attention has no place in it.
Definitions are theirs, also where `regard heads` has others: position 0 counts, and is left out of the
largest weight alone.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
from jaxtyping import Float

from regard.errors import UsageError
from regard.run import files
from regard.traces.site import TracedSite
from regard.traces.trace import Trace

SQUARE = ("encoder-self", "decoder-self")
INTERVALS, EACH = 10, 20  # of activation, 10 is the highest; texts kept of each
A_ROW, LEAST = 8, 0.005  # largest weights kept of a row, and none below this
TOKENS, POINTS = 50, 2000  # in lists of tokens; in the cloud of vectors
EDGES = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)  # of distances
METRICS = {
    "self_attention_score": "mean weight on the token itself",
    "previous_token_score": "mean weight on the token before",
    "pattern_entropy": "mean entropy of a row of weights, in nats",
    "qk_distance": "mean distance to what is looked at, in tokens",
    "qk_distance_variance": "variance of that distance",
    "induction_score": "mean weight behind other copies of the same token",
    "logit_std": "standard deviation of the scores of a query",
    "top_logit_margin": "largest score of a query less the second",
    "logit_z_score": "how many standard deviations the largest score lies above the mean",
    "query_token_entropy": "entropy of the tokens that look strongly, in nats",
    "key_token_entropy": "entropy of the tokens that are looked at strongly, in nats",
}
Weights = Float[np.ndarray, "query key"]


@final
@dataclass(eq=False)
class _Head:
    """What is gathered about one head, text by text."""

    sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    counts: Counter[str] = field(default_factory=Counter)
    largest: list[float] = field(default_factory=list)  # of each text
    texts: list[dict[str, Any]] = field(default_factory=list)
    strong: list[tuple[float, int, int, int]] = field(default_factory=list)  # weight, text, q, k
    vectors: list[dict[str, np.ndarray]] = field(default_factory=list)  # of each text
    seen: tuple[Counter[str], Counter[str]] = field(default_factory=lambda: (Counter(), Counter()))

    def add(self, site: TracedSite, head: int, pieces: Sequence[str], number: int) -> None:
        """One text: its metrics, its sparse map, and where this head looked most."""
        weights = site.weights[head].astype(np.float64)
        self._measure(weights, site.scores[head].astype(np.float64), pieces)
        inner = weights[1:, 1:].copy()
        np.fill_diagonal(inner, 0.0)
        top = float(inner.max()) if inner.size else 0.0
        self.largest.append(top)
        rows, keys = _sparse(weights)
        size = len(pieces)
        self.texts.append(
            {
                "sequence_id": number,
                "interval": 0,
                "tokens": list(pieces),
                "attention_indices": (rows * size + keys).tolist(),
                "attention_values": np.round(weights[rows, keys], 4).tolist(),
                "seq_len": size,
                "max_activation": round(top, 4),
            }
        )
        self.vectors.append({"Q": site.query[head], "K": site.key[head], "V": site.value[head]})
        if inner.size:
            flat = np.argsort(-inner, axis=None, kind="stable")[: 2 * A_ROW]
            for query, key in zip(*np.unravel_index(flat, inner.shape), strict=True):
                self.strong.append((float(inner[query, key]), number, int(query) + 1, int(key) + 1))
                self.seen[0][pieces[query + 1]] += 1
                self.seen[1][pieces[key + 1]] += 1

    def _measure(self, weights: Weights, scores: Weights, pieces: Sequence[str]) -> None:
        size = len(weights)
        place = np.arange(size)
        far = np.abs(place[:, None] - place[None])
        self._count("self_attention_score", np.diag(weights))
        self._count("previous_token_score", np.diag(weights, -1))
        logs = np.log(np.where(weights > 0, weights, 1.0))
        self._count("pattern_entropy", -(weights * logs).sum(1))
        self._count("qk_distance", (weights * far).sum(1))
        self._count("qk_distance_squared", (weights * far**2).sum(1))
        names = np.asarray(pieces, dtype=object)
        same = (names[:, None] == names[None]) & (far > 0)
        behind = np.zeros_like(same)
        behind[:, 1:] = same[:, :-1]
        rows = same.any(1)
        self._count("induction_score", (weights * behind).sum(1)[rows])
        for row in scores:
            seen = np.sort(row[np.isfinite(row)])[::-1]
            if len(seen) > 1:
                self._count("logit_std", seen.std()[None])
                self._count("top_logit_margin", (seen[0] - seen[1])[None])
                if seen.std() > 0:
                    self._count("logit_z_score", ((seen[0] - seen.mean()) / seen.std())[None])

    def _count(self, name: str, values: np.ndarray) -> None:
        self.sums[name] += float(values.sum())
        self.counts[name] += values.size

    def metrics(self) -> dict[str, float | None]:
        """Means over all rows of all texts; None where nothing could be counted."""
        means = {
            name: self.sums[name] / self.counts[name] if self.counts[name] else None
            for name in (*METRICS, "qk_distance_squared")
        }
        mean, squared = means["qk_distance"], means.pop("qk_distance_squared")
        if mean is not None and squared is not None:
            means["qk_distance_variance"] = max(0.0, squared - mean**2)
        for side, name in enumerate(("query_token_entropy", "key_token_entropy")):
            means[name] = _entropy(self.seen[side])
        return {name: None if one is None else round(one, 4) for name, one in means.items()}

    def payload(self) -> dict[str, Any]:
        """The content of its file: texts of every interval, and what they say together."""
        order = np.argsort(np.argsort(self.largest, kind="stable"), kind="stable")
        interval = order * INTERVALS // max(1, len(order)) + 1
        kept: list[dict[str, Any]] = []
        for level in range(INTERVALS, 0, -1):
            own = [
                {**text, "interval": level}
                for text, at in zip(self.texts, interval, strict=True)
                if at == level
            ]
            kept += sorted(own, key=lambda one: -float(one["max_activation"]))[:EACH]
        edges = np.linspace(0.0, 1.0, 21)
        return {
            "sequences": kept,
            "qk_distance_histogram": _distances(kept),
            "top_query_tokens": _tokens(kept, 0),
            "top_key_tokens": _tokens(kept, 1),
            "histogram": {
                "bin_edges": np.round(edges, 4).tolist(),
                "bin_values": np.histogram(self.largest, edges)[0].tolist(),
            },
            "statistics": {
                "n_samples": len(self.largest),
                "mean_max_activation": round(float(np.mean(self.largest)), 4),
            },
        }

    def cloud(self) -> dict[str, Any]:
        """Vectors at the strongest weights, each kind along its own three principal components."""
        some = sorted(self.strong, key=lambda one: -one[0])[:POINTS]
        places = {"Q": 0, "K": 1, "V": 1, "O": 0}
        components = {}
        for name, at in places.items():
            rows = [self._vector(name, one, (one[2], one[3])[at]) for one in some]
            components[name] = _components(np.stack(rows)) if rows else {}
        norms = [
            round(float(np.linalg.norm(self._vector("Q", one, one[2]).astype(np.float64))), 4)
            for one in some
        ]
        return {
            "seq_idx": [one[1] for one in some],
            "top_q": [one[2] for one in some],
            "top_k": [one[3] for one in some],
            "norms": norms,
            "pca": components,
            "clusters": [],
        }

    def _vector(self, name: str, one: tuple[float, int, int, int], place: int) -> np.ndarray:
        own = self.vectors[one[1]]
        if name != "O":
            return own[name][place]
        text = self.texts[one[1]]
        indices = np.asarray(text["attention_indices"])
        values = np.asarray(text["attention_values"])
        row = indices // text["seq_len"] == place  # what the head read there, from what is kept
        return np.asarray(values[row] @ own["V"][indices[row] % text["seq_len"]])


def export(folder: Path, name: str, seen: Iterable[Trace], kind: str | None = None) -> int:
    """Write the folder; how many heads there are in it."""
    chosen, heads, tokens = kind, dict[tuple[int, int], _Head](), dict[str, list[str]]()
    for number, trace in enumerate(seen):
        sites = _square(trace, chosen)
        chosen = sites[0].kind
        pieces = trace.axes[sites[0].queries].pieces
        tokens[str(number)] = list(pieces)
        for site in sites:
            for head in range(site.heads):
                heads.setdefault((site.layer, head), _Head()).add(site, head, pieces, number)
    _write(folder, name, chosen or "", heads, tokens)
    return len(heads)


def _square(trace: Trace, kind: str | None) -> list[TracedSite]:
    kinds = sorted({site.kind for site in trace.sites if site.kind in SQUARE})
    if kind is None and len(kinds) > 1:
        raise UsageError(
            f"this model has {len(kinds)} kinds of square maps, and HeadVis shows one",
            where="--headvis",
            remedy=f"choose one: --kind {' or --kind '.join(kinds)}",
        )
    wanted = kind or (kinds[0] if kinds else "")
    sites = [site for site in trace.sites if site.kind == wanted]
    if not sites or sites[0].kind not in SQUARE:
        raise UsageError(
            "HeadVis holds square maps, those of self-attention, and there are none",
            where="--headvis",
            remedy=f"--kind {' or --kind '.join(kinds)}" if kinds else "take a Transformer",
        )
    return sites


def _write(
    folder: Path,
    name: str,
    kind: str,
    heads: Mapping[tuple[int, int], _Head],
    tokens: Mapping[str, list[str]],
) -> None:
    places = sorted(heads)
    texts = {
        "config.json": _config(name, kind, places),
        "scatter_data.json": [
            {"layer": layer, "head": head, **heads[layer, head].metrics()} for layer, head in places
        ],
        "umap/sequences.json": tokens,
        "server_config.json": {},
        "attributions/manifest.json": {},
    }
    for layer, head in places:
        texts[f"heads/L{layer}H{head}.json"] = heads[layer, head].payload()
        texts[f"umap/L{layer}H{head}.json"] = heads[layer, head].cloud()
    for path, content in texts.items():
        files.make_folder((folder / path).parent)
        written = json.dumps(content, ensure_ascii=False, allow_nan=False)
        files.write_atomic(folder / path, written.encode())


def _config(name: str, kind: str, places: Sequence[tuple[int, int]]) -> dict[str, Any]:
    listed = [list(place) for place in places]
    return {
        "model_name": f"{Path(name).name} ({kind})",
        "heads": listed,
        "n_layers": 1 + max(layer for layer, _ in places),
        "n_heads": 1 + max(head for _, head in places),
        "n_intervals": INTERVALS,
        "metrics": list(METRICS),
        "metric_descriptions": METRICS,
        "head_data_pattern": "L{layer}H{head}.json",
        "has_umap": True,
        "umap_heads": listed,
        "custom_plots": [{"key": "qk_distance_histogram", "label": "Q-K distance"}],
        "custom_tables": [
            {"key": "top_query_tokens", "label": "Top query tokens"},
            {"key": "top_key_tokens", "label": "Top key tokens"},
        ],
        "statistics_display": {
            "n_samples": {"label": "Texts", "format": "default"},
            "mean_max_activation": {"label": "Mean max activation", "format": "default"},
        },
    }


def _sparse(weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """The largest few of each row, by rows and then by keys."""
    kept = np.argsort(-weights, axis=1, kind="stable")[:, :A_ROW]
    chosen = np.zeros(weights.shape, bool)
    np.put_along_axis(chosen, kept, values=True, axis=1)
    rows, keys = np.nonzero(chosen & (weights >= LEAST))
    return rows, keys


def _pairs(
    texts: Sequence[Mapping[str, Any]],
) -> Iterable[tuple[Mapping[str, Any], int, int, float]]:
    for text in texts:
        pairs = zip(text["attention_indices"], text["attention_values"], strict=True)
        for index, value in pairs:
            yield text, index // text["seq_len"], index % text["seq_len"], value


def _distances(texts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    sums = np.zeros(len(EDGES) - 1)
    for _, query, key, value in _pairs(texts):
        sums[min(int(np.searchsorted(EDGES, abs(query - key), "right")) - 1, len(sums) - 1)] += (
            value
        )
    return {"bin_edges": list(EDGES), "bin_values": np.round(sums, 4).tolist()}


def _tokens(texts: Sequence[Mapping[str, Any]], side: int) -> list[dict[str, Any]]:
    sums: dict[str, float] = defaultdict(float)
    for text, query, key, value in _pairs(texts):
        sums[text["tokens"][key if side else query]] += value
    most = sorted(sums.items(), key=lambda one: -one[1])[:TOKENS]
    return [{"token": token, "weight": round(one, 4)} for token, one in most]


def _entropy(counts: Mapping[str, int]) -> float | None:
    total = sum(counts.values())
    if not total:
        return None
    shares = np.array(list(counts.values())) / total
    return float(-(shares * np.log(shares)).sum())


def _components(rows: np.ndarray) -> dict[str, list[float]]:
    centred = rows.astype(np.float64) - rows.mean(0)
    left, scale, _ = np.linalg.svd(centred, full_matrices=False)
    coordinates = (left * scale)[:, :3]
    coordinates = np.pad(coordinates, ((0, 0), (0, max(0, 3 - coordinates.shape[1]))))
    return {f"d{axis}": np.round(coordinates[:, axis], 4).tolist() for axis in range(3)}
