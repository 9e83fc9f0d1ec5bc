"""What one attention did for one answer, kept so that every number of it can be worked out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float

from regard.attention import Aligned
from regard.attention.attention import INPUTS, Site
from regard.attention.score import AdditiveScore, DotScore, NoticingScore
from regard.attention.watch import Seen
from regard.errors import UsageError
from regard.tasks.axis import Axis
from regard.traces.head_names import Kind

Combine = Literal["product", "additive"]


@final
@dataclass(frozen=True, eq=False)
class TracedSite:
    """Query, key and value as the score met them, and what came of them: scores, then weights.

    A score is the sum of what its neurons contribute, plus, where the model adds one, a `bias` that depends
    on the distance alone. Where a score sees what earlier queries read, `noticed` is what each query noticed
    about each key, and the key it met is `key + noticed @ notice_weight`.
    """

    path: str
    kind: Kind
    layer: int
    queries: str
    keys: str
    score: str
    normaliser: str
    combine: Combine
    scale: float
    weights: Float[np.ndarray, "heads query key"]
    scores: Float[np.ndarray, "heads query key"]  # -inf where a query could not look
    query: Float[np.ndarray, "heads query width"]  # adapted by the score
    key: Float[np.ndarray, "heads key width"]  # prepared by the score
    value: Float[np.ndarray, "heads key value_width"]
    neuron_weight: Float[np.ndarray, "heads width"] | None = None  # v of the additive score
    bias: Float[np.ndarray, "heads query key"] | None = None
    noticed: Float[np.ndarray, "heads query key feature"] | None = None
    notice_weight: Float[np.ndarray, "heads feature width"] | None = None

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.weights.shape))
        return f"TracedSite({self.path}, {self.queries} looks at {self.keys}, {shape})"

    @property
    def faces_source(self) -> bool:
        """Whether an answer reads a source here, and not a sequence itself."""
        return self.queries != self.keys

    @property
    def heads(self) -> int:
        """How many heads look here."""
        return len(self.weights)

    @property
    def width(self) -> int:
        """How many neurons a score is a sum of."""
        return self.key.shape[-1]

    def checked(self, head: int) -> int:
        """The head, if there is one of this number."""
        if not 0 <= head < self.heads:
            raise UsageError(
                f"no head {head} at '{self.path}'",
                where="head",
                remedy=f"choose 0 to {self.heads - 1}",
            )
        return head

    def contributions(self, head: int, query: int, key: int) -> Float[np.ndarray, " width"]:
        """What each neuron adds to one score."""
        return self.contributions_of(head, query)[key]

    def contributions_of(self, head: int, query: int) -> Float[np.ndarray, "key width"]:
        """What each neuron adds to the score of each key, for one query."""
        adapted, keys = self.query[head, query], self.key[head]
        if self.combine == "product":
            return adapted * keys * np.float32(self.scale)
        assert self.neuron_weight is not None
        if self.noticed is not None and self.notice_weight is not None:
            keys = keys + self.noticed[head, query] @ self.notice_weight[head]
        return np.tanh(adapted + keys) * self.neuron_weight[head]

    @property
    def attention_path(self) -> str:
        """The path of the attention itself: `path` is another where several sources share its softmax."""
        return self.path.removesuffix(f"[{self.keys}]")

    def of_keys(self, axis: str, keys: slice) -> TracedSite:
        """The part of it whose keys lie on one axis, where several sources share a softmax."""
        return replace(
            self,
            path=f"{self.path}[{axis}]",
            keys=axis,
            weights=self.weights[:, :, keys],
            scores=self.scores[:, :, keys],
            key=self.key[:, keys],
            value=self.value[:, keys],
            bias=None if self.bias is None else self.bias[:, :, keys],
            noticed=None if self.noticed is None else self.noticed[:, :, keys],
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """All numbers by name."""
        names = ["weights", "scores", "query", "key", "value", "neuron_weight", "bias"]
        names += ["noticed", "notice_weight"]
        return {name: found for name in names if (found := getattr(self, name)) is not None}

    def describe(self) -> dict[str, Any]:
        """All but the numbers, as JSON."""
        return {
            "path": self.path,
            "kind": self.kind,
            "layer": self.layer,
            "queries": self.queries,
            "keys": self.keys,
            "heads": self.heads,
            "score": self.score,
            "normaliser": self.normaliser,
            "combine": self.combine,
            "scale": self.scale,
            "shape": list(self.weights.shape),
            "width": self.width,
            "value_width": self.value.shape[-1],
            "has_bias": self.bias is not None,
            "features": 0 if self.noticed is None else self.noticed.shape[-1],
        }


def observe(seen: Seen, path: str, axes: Mapping[str, Axis]) -> TracedSite:
    """What `watch` saw at one path, whose attention says itself what it is; padding is left out."""
    calls = seen[path]
    last = calls[-1]
    site = last.attention.site
    assert site is not None, path
    queries = len(axes[site.queries])
    # A source that is missing has one key, which no query sees.
    keys = sum(len(axes[name]) if name in axes else 1 for name in site.key_axes)
    if site.role == "choice":
        return _choice(seen, path, site, queries, keys)
    score = last.attention.score
    adapted = torch.cat([score.adapt(call.query)[0] for call in calls], 1)
    key, noticed, notice_weight = _key(calls, queries, keys)
    return TracedSite(
        path=path,
        kind=kind_of_site(site),
        layer=site.layer,
        queries=site.queries,
        keys=site.key_axes[0],
        score=score.name,
        normaliser=last.attention.normaliser.name,
        combine="product" if isinstance(score, DotScore) else "additive",
        scale=score.scale(last.memory.key.shape[-1]) if isinstance(score, DotScore) else 1.0,
        weights=_plain(_wide(seen.weights(path), keys)[0, :, :queries, :keys]),
        scores=_plain(_wide(seen.scores(path), keys, -torch.inf)[0, :, :queries, :keys]),
        query=_plain(adapted[:, :queries]),
        key=_plain(key),
        value=_plain(_wide(last.memory.value.mT, keys).mT[0, :, :keys]),
        neuron_weight=_plain(score.value_weight) if isinstance(score, AdditiveScore) else None,
        bias=_bias(calls, queries, keys),
        noticed=noticed,
        notice_weight=notice_weight,
    )


def _choice(seen: Seen, path: str, site: Site, queries: int, keys: int) -> TracedSite:
    """How each query weighed whole sources; its keys, what it read, are other ones each time: not kept."""
    attention = seen[path][-1].attention
    weights, scores = seen.weights(path), seen.scores(path)
    if len(weights) > 1:  # all queries at once: each was a row of its own
        weights, scores = weights.transpose(0, 2), scores.transpose(0, 2)
    nothing = np.zeros((weights.shape[1], queries, 0), np.float32)
    return TracedSite(
        path=path,
        kind="choice",
        layer=site.layer,
        queries=site.queries,
        keys=site.key_axes[0],
        score=attention.score.name,
        normaliser=attention.normaliser.name,
        combine="product",
        scale=1.0,
        weights=_plain(weights[0, :, :queries, :keys]),
        scores=_plain(scores[0, :, :queries, :keys]),
        query=nothing,
        key=nothing[:, :1].repeat(keys, 1),
        value=nothing[:, :1].repeat(keys, 1),
    )


def _wide(rows: torch.Tensor, keys: int, fill: float = 0.0) -> torch.Tensor:
    """With a column for every key: a memory that grew step by step has none for what nobody looked at."""
    missing = keys - rows.shape[-1]
    return F.pad(rows, (0, missing), value=fill) if missing > 0 else rows


def _key(
    calls: list[Aligned], queries: int, keys: int
) -> tuple[torch.Tensor, np.ndarray | None, np.ndarray | None]:
    """The prepared keys and, where the score sees more than them, what each query noticed about each."""
    last, score = calls[-1], calls[-1].attention.score
    key = _wide(last.memory.key.mT, keys).mT[0, :, :keys]
    if not isinstance(score, NoticingScore):
        return key, None, None
    features = [score.features(call.memory.carried)[0, :, None, :keys] for call in calls]
    noticed = torch.cat(features, 1)[:, :queries]
    weight = score.feature_weight
    return key - noticed[:, -1].to(weight.dtype) @ weight, _plain(noticed), _plain(weight)


def kind_of_site(site: Site) -> Kind:
    """The kind of attention, in one word, for views and files."""
    if site.role == "self":
        return "decoder-self" if site.queries == INPUTS else "encoder-self"
    return site.role


def _bias(calls: list[Aligned], queries: int, keys: int) -> np.ndarray | None:
    bias = calls[0].attention.bias
    if bias is None:
        return None
    rows = [bias(call.query.shape[2], keys, call.memory.first) for call in calls]
    return _plain(torch.cat(rows, 2)[0, :, :queries])


def _plain(tensor: torch.Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.detach().float().cpu().numpy())


# Where a token's information comes from when every layer's attention is followed downwards (Abnar 2020).


def rollout(sites: Sequence[TracedSite]) -> Float[np.ndarray, "layer query key"]:
    """A_l ... A_1 for each layer l of self-attention, A = (mean over heads + identity) / 2.

    The identity stands for the residual connection. An encoder's layers if there are any, else a decoder's.
    """
    for kind in ("encoder-self", "decoder-self"):
        layers = sorted((site for site in sites if site.kind == kind), key=lambda s: s.layer)
        if layers:
            break
    else:
        raise UsageError(
            "this model has no self-attention to follow",
            where="rollout",
            remedy="rollout follows the layers of a Transformer: look at one attention instead",
        )
    reached = np.eye(layers[0].weights.shape[-1])
    reach = []
    for site in layers:
        mixed = (site.weights.mean(0) + np.eye(len(reached))) / 2
        reached = mixed / mixed.sum(-1, keepdims=True) @ reached
        reach.append(reached.astype(np.float32))
    return np.stack(reach)
