"""An answer once more, under `watch`: what each step could have said, and who looked where.

Attention never travels through search. The replay shows the weights that stepping had; a law test says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from torch import Tensor

from regard.attention import watch
from regard.attention.watch import Seen
from regard.models import Model
from regard.tasks import Task
from regard.tasks.axis import Axis
from regard.tasks.search import Found
from regard.tasks.task import device_of
from regard.traces.site import TracedSite, observe
from regard.traces.step import TracedStep, Tree, steps_of, tree_of


@final
@dataclass(frozen=True, eq=False)
class Replay:
    """The tokens of an answer, every attention between them, its steps, and the tree that it grew in."""

    axes: Mapping[str, Axis]
    sites: tuple[TracedSite, ...]
    steps: tuple[TracedStep, ...]
    tree: Tree | None


def replay(task: Task, model: Model, text: str, found: Found) -> Replay:
    """Force what was found through the model, and keep all of it."""
    forced = task.forced(text, found.answer)
    seen, logits = watched(task, model, forced.row)
    sites = tuple(site for path in seen for site in _sites(seen, path, forced.axes))
    steps = steps_of(task.of_steps(text, logits), forced.ids, task.symbol, found.given)
    tree = None if found.tree is None else tree_of(found.tree, steps, task.symbol)
    return Replay(forced.axes, sites, steps, tree)


def watched(task: Task, model: Model, row: Mapping[str, np.ndarray]) -> tuple[Seen, Tensor]:
    """One row forced through the model: what every attention did, and the logits."""
    source = 0 if not model.encoders else max(1, *(len(row[name]) for name in model.encoders))
    batch = task.collate([row], source, len(row["target"])).to(device_of(model))
    with watch(model) as seen:
        logits = task.logits(model, batch)
    return seen, logits


def _sites(seen: Seen, path: str, axes: Mapping[str, Axis]) -> list[TracedSite]:
    """One site an attention; of keys that several sources share, one a source."""
    site = seen[path][-1].attention.site
    if site is None or site.queries not in axes or not set(site.key_axes) <= axes.keys():
        return []
    whole = observe(seen, path, axes)
    if len(site.key_axes) == 1:
        return [whole]
    parts, first = [], 0
    for name in site.key_axes:
        here = slice(first, first + len(axes[name]))
        parts.append(whole.of_keys(name, here))
        first = here.stop
    return parts
