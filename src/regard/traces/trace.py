"""One answer from the inside: decode, replay the winner under `watch`, and keep every number.

>>> seen = regard.trace("runs/first", "two dogs run")
>>> seen.site().weights, seen.by_words(seen.site()), seen.rollout()
>>> seen.save("dogs.npz")

One trace, many views: terminal, SVG, page, notebook and studio are functions of this one value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float

from regard.answer.engine import changed
from regard.answer.passage import Part
from regard.answer.predictor import Predictor
from regard.box.card import Look
from regard.decode import DecodeSettings
from regard.errors import UsageError, kind_of
from regard.models import Model
from regard.run.folder import Run
from regard.tasks import Prediction, Sight, Task
from regard.tasks.look import Site
from regard.traces import document, file
from regard.traces.replay import replay
from regard.traces.rollout import rollout
from regard.traces.search import Symbols, find
from regard.traces.site import TracedSite
from regard.traces.step import TracedStep, Tree
from regard.traces.words import Axis, joined, merge

__all__ = ["Trace", "look_inside", "trace", "traces"]


@final
@dataclass(frozen=True, eq=False)
class Trace:
    """An answer, how it came about step by step, and what every attention of the model did for it."""

    task: str
    model: str
    question: str
    answer: Prediction
    steps: tuple[TracedStep, ...]
    axes: Mapping[str, Axis]
    sites: tuple[TracedSite, ...]
    tree: Tree | None = None
    look: Look | None = None  # what the model's card says is best looked at; no part of the file

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
        path = self.sight.site(which).path
        return next(site for site in self.sites if site.path == path)

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

    @property
    def sight(self) -> Sight:
        """Its weights alone, as the terminal shows them."""
        axes: Any = {name: axis.pieces for name, axis in self.axes.items()}
        sites: Any = [(site.path, site.queries, site.keys, site.weights) for site in self.sites]
        return Sight(self.answer, axes, tuple(Site(*parts) for parts in sites))

    def describe(self) -> dict[str, Any]:
        """All but the arrays, as JSON: the header of the file, and what pages and programs read first."""
        return document.describe(self)

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
        return file.packed(self.describe(), arrays)

    def save(self, path: str | Path) -> None:
        """Write `to_bytes` to a file, which is replaced as a whole."""
        file.write(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """What `save` wrote, every size checked before it is believed."""
        header, arrays = file.read(Path(path))
        return cls(
            task=header.task,
            model=header.model,
            question=header.question,
            answer=header.answer.prediction(),
            steps=header.steps,
            axes=header.axes,
            sites=tuple(head.site(own) for head, own in zip(header.sites, arrays, strict=True)),
            tree=header.tree,
        )

    def __repr__(self) -> str:
        parts = f"{self.question[:60]!r} -> {self.answer.text[:60]!r}"
        return f"Trace({self.task}: {parts}, {len(self.sites)} sites)"

    def _repr_html_(self) -> str:
        """The page of this trace in a frame of its own, for a notebook."""
        from regard.show.page import frame

        return frame(self)


def trace(
    run: Predictor | Run | str | Path,
    text: str,
    settings: DecodeSettings | None = None,
    *,
    beam: int | None = None,
    prefix: Symbols = (),
    truncate: bool = False,
    to: str | None = None,
) -> Trace:
    """Answer a text and keep everything: `prefix` gives the answer's first symbols, by id or by name.

    Of a model that knows several languages, `to` says into which. The text is read as a whole.
    """
    predictor = _predictor(run)
    own = changed(settings or predictor.run.settings.decode, {"beam": beam})
    part = predictor.whole(text, to)
    if part is None:
        return _seen(predictor, text, own, prefix, truncate)
    bare = text[len(text) - part.span[1] :]  # without a tag that somebody typed
    return _part_of(predictor, bare, part, own, prefix, truncate)


def traces(
    run: Predictor | Run | str | Path,
    text: str,
    settings: DecodeSettings | None = None,
    *,
    to: str | None = None,
    split: bool = True,
) -> Iterator[Trace]:
    """A trace for each sentence of a text that a translator is asked; for other models, one."""
    predictor = _predictor(run)
    own = settings or predictor.run.settings.decode
    passages = predictor.passages
    if passages is None or not split:
        yield trace(predictor, text, own, to=to)
        return
    bare = passages.bare(text)
    for part in passages.parts(bare, passages.target(text, to)):
        if part.read:
            yield _part_of(predictor, bare[slice(*part.span)], part, own)


def _part_of(
    predictor: Predictor,
    text: str,
    part: Part,
    settings: DecodeSettings,
    prefix: Symbols = (),
    truncate: bool = False,
) -> Trace:
    """The trace of a sentence in the person's own words, whatever the model read in their place."""
    seen = _seen(predictor, part.read, settings, prefix, truncate)
    restored, named = part.hidden.restored, part.hidden.named
    axes = {
        name: Axis(tuple(map(named, axis.pieces)), axis.word_ids, tuple(map(named, axis.words)))
        for name, axis in ((name, joined(axis)) for name, axis in seen.axes.items())
    }
    others = tuple((restored(other), score) for other, score in seen.answer.alternatives)
    answer = replace(seen.answer, text=restored(seen.answer.text), alternatives=others)
    return replace(seen, question=text, answer=answer, axes=axes)


def _seen(
    predictor: Predictor, text: str, settings: DecodeSettings, prefix: Symbols, truncate: bool
) -> Trace:
    (read,) = predictor.fitting([text], truncate=truncate)
    task, name = predictor.run.task, predictor.run.folder.name
    own = predictor.room.bounded(settings, task, read, len(prefix))
    seen = look_inside(task, predictor.model, read, own, prefix, name=name)
    return seen if predictor.card is None else replace(seen, look=predictor.card.look)


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
    """The trace of a task and its model, wherever they come from."""
    model.eval()
    found = find(task, model, text, settings, prefix)
    seen = replay(task, model, text, found)
    return Trace(task.name, name, text, found.answer, seen.steps, seen.axes, seen.sites, seen.tree)


def _predictor(run: Predictor | Run | str | Path) -> Predictor:
    match run:
        case Predictor():
            return run
        case Run():
            return Predictor(run, run.load_model())
        case str() | Path():
            return Predictor.load(run)
        case _:
            raise UsageError(
                f"a trace needs a trained model, and this is {kind_of(run)}",
                where="run",
                remedy="give what regard.load gives, or the path of a run",
            )
