"""An answer once more, under `watch`: what each step could have said, and who looked where.

Attention never travels through search. The replay shows the weights that stepping had; a law test says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import watch
from regard.attention.attention import SOURCES, TARGET
from regard.attention.watch import Seen
from regard.decode import BeamTree
from regard.decode.hypothesis import Fate
from regard.models import Model
from regard.tasks import Task
from regard.tasks.axis import Axis
from regard.tasks.task import Name, device_of
from regard.traces.site import TracedSite, observe


def watched(task: Task, model: Model, row: Mapping[str, np.ndarray]) -> tuple[Seen, Tensor]:
    """One row forced through the model: what every attention did, and the logits."""
    source = 0 if not model.encoders else max(1, *(len(row[name]) for name in model.encoders))
    batch = task.collate([row], source, len(row["target"])).to(device_of(model))
    with watch(model) as seen:
        logits = task.logits(model, batch)
    return seen, logits


def ribbons_of(
    seen: Seen, sites: tuple[TracedSite, ...], axes: Mapping[str, Axis]
) -> tuple[Ribbon, ...]:
    """What each gauge showed, and the coverage of each source that a decoder reads while it keeps count."""
    ribbons = [
        Ribbon(gauge.name, gauge.axis, _values(seen.shown(path)[0], len(axes[gauge.axis])))
        for path, (gauge, _) in seen.gauges.items()
        if gauge.axis in axes
    ]
    for site in sites:
        if "coverage" in seen[site.attention_path][-1].attention.score.sees:
            had = site.weights.mean(0).sum(0)
            ribbons.append(Ribbon("coverage", site.keys, tuple(map(float, had))))
    return (*ribbons, *shares(sites, axes))


def shares(sites: Sequence[TracedSite], axes: Mapping[str, Axis]) -> tuple[Ribbon, ...]:
    """How much of its attention each step gave to each source, where sources compete for it.

    The mean over heads and layers. Sources that are read each for itself compete for nothing: no ribbons.
    """
    rows: dict[str, list[np.ndarray]] = {}
    for site in sites:
        if site.queries != TARGET:
            continue
        if site.kind == "choice":
            for number, name in enumerate(axes[SOURCES].pieces):
                rows.setdefault(name, []).append(site.weights[:, :, number].mean(0))
        elif site.path != site.attention_path and site.kind == "cross":
            rows.setdefault(site.keys, []).append(site.weights.sum(2).mean(0))
    return tuple(
        Ribbon(f"share of {name}", TARGET, tuple(map(float, np.mean(some, 0))))
        for name, some in rows.items()
    )


def _values(values: Tensor, count: int) -> tuple[float, ...]:
    return tuple(values[:count].float().tolist())


def fitted(axis: Axis, model: Model, name: str, row: Mapping[str, np.ndarray]) -> Axis:
    """The axis of a source as long as the states that its encoder makes of it."""
    encoder = model.encoders.get(name)
    if encoder is None or name not in row:
        return axis
    front = encoder.embedding
    return axis.fitted(encoder.states_of(len(row[name])), front.states_a_column, front.side)


def sites_of(seen: Seen, path: str, axes: Mapping[str, Axis]) -> list[TracedSite]:
    """One site an attention; of keys that several sources share, one a source."""
    site = seen[path][-1].attention.site
    if site is None or site.queries not in axes or not set(site.key_axes) & axes.keys():
        return []
    whole = observe(seen, path, axes)
    if len(site.key_axes) == 1:
        return [whole]
    parts, first = [], 0
    for name in site.key_axes:  # a missing source has one key, which nobody sees
        here = slice(first, first + (len(axes[name]) if name in axes else 1))
        parts += [whole.of_keys(name, here)] if name in axes else []
        first = here.stop
    return parts


# How an answer came about: what each step could have said, and the tree the search grew.

MOST = 10


@final
@dataclass(frozen=True)
class Alternative:
    """One symbol that a step could have said."""

    symbol: str
    id: int
    log_probability: float


@final
@dataclass(frozen=True)
class TracedStep:
    """One symbol of the answer, whether it was given, and the likeliest symbols in its place.

    `place` is where the state stands that it was said from, if that is one of the source's: that of a hidden
    word, or the first, which a classifier reads.
    """

    symbol: str
    id: int
    log_probability: float
    given: bool
    alternatives: tuple[Alternative, ...]
    place: int | None = None


@final
@dataclass(frozen=True)
class Node:
    """One candidate that the search compared: `symbol` behind slot `parent` of the step before."""

    parent: int
    symbol: str
    id: int
    log_probability: float
    total: float
    fate: Fate
    slot: int
    winner: bool


Tree = tuple[tuple[Node, ...], ...]


@final
@dataclass(frozen=True)
class Ribbon:
    """One number for each place of an axis, by the name the literature has for it.

    p_gen     of each step, the share that was generated, not copied (See 2017)
    coverage  of each source position, the attention it has had over all steps (See 2017)
    share of  of each step, the share of attention that a source had, where several compete (Libovický 2017)
    gate      of each step, the share that is left to the vocabulary, not pointed (Merity 2016)
    """

    name: str
    axis: str
    values: tuple[float, ...]


def steps_of(
    logits: Float[Tensor, "step choice"],
    ids: Sequence[int],
    name: Name,
    given: int = 0,
    places: Sequence[int] = (),
) -> tuple[TracedStep, ...]:
    """The steps that said these ids, by the logits and the places in the source they were said from."""
    known = logits.double().log_softmax(-1).nan_to_num(nan=-torch.inf, neginf=-torch.inf).cpu()
    values, order = known.sort(dim=-1, descending=True, stable=True)
    steps = []
    for place, number in enumerate(ids):
        ranked = zip(order[place, :MOST].tolist(), values[place, :MOST].tolist(), strict=True)
        others = tuple(Alternative(name(i), i, value) for i, value in ranked if value > -torch.inf)
        own = float(known[place, number])
        behind = places[place] if places else None
        steps.append(TracedStep(name(number), number, own, place < given, others, behind))
    return tuple(steps)


def tree_of(tree: BeamTree, steps: Sequence[TracedStep], name: Name) -> Tree:
    """The tree with names, and the nodes marked that say the answer, step by step.

    The search takes a given symbol as certain. Here it has the log-probability that the model gives it, and
    every total behind it counts it, so that a forced answer can be compared with a free one.
    """
    best = _winner(tree, [step.id for step in steps])
    given = [step.log_probability for step in steps if step.given]
    return tuple(
        tuple(
            Node(
                one.parent,
                name(one.token),
                one.token,
                given[number] if number < len(given) else one.log_probability,
                one.total + math.fsum(given[: number + 1]),
                one.fate,
                one.slot,
                place == best.get(number),
            )
            for place, one in enumerate(step)
        )
        for number, step in enumerate(tree.steps)
    )


def _winner(tree: BeamTree, path: Sequence[int]) -> dict[int, int]:
    """Step -> place of the winner's candidate in it; of several that end alike, the one that says it all."""
    if not 0 < len(path) <= len(tree.steps):
        return {}
    walks = (_walk(tree, path, place) for place in range(len(tree.steps[len(path) - 1])))
    return next((walk for walk in walks if walk), {})


def _walk(tree: BeamTree, path: Sequence[int], place: int) -> dict[int, int]:
    """From the last symbol back to the first, as long as it is the path."""
    winner: dict[int, int] = {}
    for number in reversed(range(len(path))):
        one = tree.steps[number][place]
        if one.fate == "dropped" or one.token != path[number]:
            return {}
        winner[number] = place
        if number:
            slots = [candidate.slot for candidate in tree.steps[number - 1]]
            place = slots.index(one.parent)
    return winner
