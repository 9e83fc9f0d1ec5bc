"""One answer from the inside: decode, replay the winner under `watch`, and keep every number.

>>> seen = regard.trace("runs/first", "two dogs run")
>>> seen.site().weights, seen.by_words(seen.site()), seen.rollout()
>>> seen.save("dogs.npz")

One trace, many views: terminal, SVG, page, notebook and studio are functions of this one value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float

from regard.box.card import Look
from regard.decode import DecodeSettings
from regard.errors import UsageError, kind_of
from regard.models import Model
from regard.question import SOURCE, SPELLED, Question, titled
from regard.tasks import TASKS, Prediction, Task
from regard.tasks.axis import Axis, Grid, Times, merge
from regard.tasks.search import Found, Symbols, find
from regard.traces import trace_file, trace_header
from regard.traces.replay import (
    Ribbon,
    TracedStep,
    Tree,
    fitted,
    ribbons_of,
    sites_of,
    steps_of,
    tree_of,
    watched,
)
from regard.traces.site import TracedSite, rollout

__all__ = ["Trace", "look_inside", "replayed"]


@final
@dataclass(frozen=True, eq=False)
class Trace:
    """An answer, how it came about step by step, and what every attention of the model did for it."""

    task: str
    model: str
    question: str  # a `Question`, where its sources matter
    answer: Prediction
    steps: tuple[TracedStep, ...]
    axes: Mapping[str, Axis]
    sites: tuple[TracedSite, ...]
    tree: Tree | None = None
    ribbons: tuple[Ribbon, ...] = ()
    look: Look | None = None  # what the model's card says is best looked at; no part of the file
    doubt: str = (
        ""  # why the answer may be wrong, if anything is known against it; no part of the file
    )

    def site(self, which: str | int | None = None) -> TracedSite:
        """A site by its path or number, or the one that best shows where the answer comes from."""
        if isinstance(which, int | np.integer):
            if 0 <= which < len(self.sites):
                return self.sites[int(which)]
            raise UsageError(
                f"no site {which}", where="site", remedy=f"there are {len(self.sites)}, from 0"
            )
        if which is None and self.look is not None:
            which = self.look.site
        for site in self.sites:
            if which is not None and site.path == which:
                return site
        if not self.sites:
            raise UsageError(
                "this model has no attention to look at", "site", "ask for answers alone"
            )
        if which is not None:
            known = ", ".join(site.path for site in self.sites)
            raise UsageError(f"no site '{which}'", where="site", remedy=f"there are: {known}")
        facing = [site for site in self.sites if site.faces_source and site.kind != "choice"]
        return (facing or list(self.sites))[-1]

    def beside(self, site: TracedSite) -> list[TracedSite]:
        """The attentions of the same queries and layer to every source, this one's among them."""
        own = (site.queries, site.layer, site.kind)
        alike = [one for one in self.sites if (one.queries, one.layer, one.kind) == own]
        return alike if site.faces_source and len({one.keys for one in alike}) > 1 else [site]

    def by_words(self, site: TracedSite) -> Float[np.ndarray, "heads query_word key_word"]:
        """A site's weights between words: summed over the pieces looked at, averaged over those that look."""
        return merge(site.weights, self.axes[site.queries], self.axes[site.keys])

    def alignment(self) -> Float[np.ndarray, "query_word key_word"]:
        """Which word looked at which, at the site that shows it best: the mean over its heads."""
        site = self.site()
        heads = list(self.look.heads if self.look and self.look.heads else range(site.heads))
        return self.by_words(site)[heads].mean(0)

    def rollout(self) -> Float[np.ndarray, "layer query key"]:
        """Attention followed down through the layers of self-attention to the tokens (Abnar 2020)."""
        return rollout(self.sites)

    def describe(self) -> dict[str, Any]:
        """All but the arrays, as JSON: the header of the file, and what pages and programs read first."""
        return trace_header.describe(self)

    def to_json(self) -> str:
        """`describe`, with the weights and scores of each site written out."""
        header = self.describe()
        for plain, site in zip(header["sites"], self.sites, strict=True):
            plain["weights"] = site.weights.tolist()
            scores = site.scores.astype(object)
            scores[~np.isfinite(site.scores)] = None
            plain["scores"] = scores.tolist()
        return json.dumps(header, ensure_ascii=False, allow_nan=False)

    def to_bytes(self) -> bytes:
        """All of it as the content of one .npz file, as docs/trace-format.md says."""
        arrays = {
            f"{number}.{name}": array
            for number, site in enumerate(self.sites)
            for name, array in site.arrays().items()
        }
        return trace_file.packed(self.describe(), arrays)

    def save(self, path: str | Path) -> None:
        """Write `to_bytes` to a file, which is replaced as a whole."""
        trace_file.write(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """What `save` wrote, every size checked before it is believed."""
        if not isinstance(path, str | Path):
            raise UsageError(
                f"{kind_of(path)} is no path", where="path", remedy="give a string or a Path"
            )
        header, arrays = trace_file.read(Path(path))
        return cls(
            task=header.task,
            model=header.model,
            question=_question(header),
            answer=header.answer.prediction(),
            steps=header.steps,
            axes=header.axes,
            sites=tuple(head.site(own) for head, own in zip(header.sites, arrays, strict=True)),
            tree=header.tree,
            ribbons=header.ribbons,
        )

    @property
    def title(self) -> str:
        """The question in one line: of a picture or a sound the name of its file, not where it lies."""
        title = titled(self.question, self.axes)
        is_file = isinstance(self.axes.get(SOURCE), Grid | Times) and title == self.question
        return PurePath(title).name if is_file and not title.startswith(SPELLED) else title

    def __repr__(self) -> str:
        parts = f"{self.title[:60]!r} -> {self.answer.text[:60]!r}"
        return f"Trace({self.task}: {parts}, {len(self.sites)} sites)"

    def _repr_html_(self) -> str:
        """The page of this trace in a frame of its own, for a notebook."""
        from regard.show.page import frame

        return frame(self)


def _question(header: trace_header.Document) -> Question:
    """By the sources of its task; a task that is not known here has one."""
    task = TASKS.get(header.task)
    sources = (SOURCE,) if task is None else task.sources
    if not isinstance(sources, tuple):  # each model of this task has names of its own
        return Question.read(header.question, tuple(header.axes), partial=True)
    return Question.read(header.question, sources)


@torch.inference_mode()
def look_inside(
    task: Task,
    model: Model,
    text: str,
    settings: DecodeSettings,
    prefix: Symbols = (),
    *,
    name: str = "",
) -> Trace:
    """Answer a text and look inside, with a task and its model, wherever they come from."""
    return replayed(task, model, text, find(task, model, text, settings, prefix), name)


@torch.inference_mode()
def replayed(task: Task, model: Model, text: str, found: Found, name: str = "") -> Trace:
    """The trace of an answer that was found before: it is forced through the model, and not searched for."""
    model.eval()
    forced, symbol = task.forced(text, found.answer), task.namer(text)
    seen, logits = watched(task, model, forced.row)
    axes = {name: fitted(axis, model, name, forced.row) for name, axis in forced.axes.items()}
    sites = tuple(site for path in seen for site in sites_of(seen, path, axes))
    logits = task.of_steps(text, logits, forced.ids, found.most)
    places = task.places(model, forced)
    steps = steps_of(logits, forced.ids, symbol, found.given, places)
    return Trace(
        task=task.name,
        model=name,
        question=task.ask(text),
        answer=found.answer,
        steps=steps,
        axes=axes,
        sites=sites,
        tree=None if found.tree is None else tree_of(found.tree, steps, symbol),
        ribbons=ribbons_of(seen, sites, axes),
    )
