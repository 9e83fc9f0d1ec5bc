"""Traces in which everything that can be text is hostile, and many tricks at once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regard.tasks.axis import Axis, Tokens
from regard.traces.site import TracedSite
from regard.traces.trace import Trace
from tests.show.payloads import CORPUS
from tests.traces.kit import traced

PART = 25  # tricks in one trace: a page of them is still drawn in a second
PARTS = [CORPUS[start : start + PART] for start in range(0, len(CORPUS), PART)]


def hostile(names: Sequence[str], kind: str = "transformer") -> Trace:
    """A trace with these names as tokens on every side, and as everything else that has a name."""
    seen = traced(kind)
    endless = itertools.cycle(names)
    axes = {axis: Tokens.whole(names) for axis in seen.axes if axis != "one"}
    axes |= {axis: Tokens.whole(names[:1]) for axis in seen.axes if axis == "one"}
    step = seen.steps[0]
    others = replace(step.alternatives[0], log_probability=-1.0)
    steps = tuple(
        replace(
            step,
            symbol=name,
            alternatives=tuple(replace(others, symbol=next(endless)) for _ in range(5)),
        )
        for name in names
    )
    tree = seen.tree and tuple(
        tuple(replace(node, symbol=next(endless)) for node in level) for level in seen.tree
    )
    text = " ".join(names)
    answer = replace(seen.answer, text=text, symbols=tuple(names), alternatives=((text, -1.0),))
    sites = tuple(_resized(site, axes, next(endless)) for site in seen.sites)
    return replace(
        seen,
        question=text,
        answer=answer,
        axes=axes,
        steps=steps,
        tree=tree,
        sites=sites,
        model=names[0],
    )


def _resized(site: TracedSite, axes: dict[str, Axis], path: str) -> TracedSite:
    """The same site with a weight for each pair of names."""
    heads, queries, keys = site.heads, len(axes[site.queries]), len(axes[site.keys])
    weights = np.random.default_rng(queries).dirichlet(np.ones(keys), (heads, queries))
    filled = {"query": queries, "key": keys, "value": keys}
    arrays = {
        name: np.ones((heads, size, getattr(site, name).shape[-1]), np.float32)
        for name, size in filled.items()
    }
    bias = None if site.bias is None else np.zeros_like(weights, np.float32)
    shown = weights.astype(np.float32)
    return replace(site, path=path, weights=shown, scores=np.log(shown), bias=bias, **arrays)
