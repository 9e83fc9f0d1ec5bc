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

from regard.attention import watch
from regard.attention.watch import Seen
from regard.box.card import Look
from regard.decode import DecodeSettings
from regard.errors import UsageError
from regard.inspect import document, file
from regard.inspect.rollout import rollout
from regard.inspect.search import Symbols, find
from regard.inspect.site import TracedSite, observe
from regard.inspect.step import Name, TracedStep, Tree, steps_of, tree_of
from regard.inspect.words import Axis, axis_of, joined, merge, typed
from regard.models import Model, Pointer
from regard.run.engine import changed
from regard.run.folder import Run
from regard.run.passage import Part
from regard.run.predictor import Predictor
from regard.tasks import Classify, Language, Prediction, Sight, Tag, Task, Translate
from regard.tasks.look import Axis as AxisName
from regard.tasks.look import Site, axes_of, forced
from regard.tasks.tag import words_of
from regard.tasks.task import device_of
from regard.text import BEGIN, END

__all__ = ["Trace", "look_inside", "trace", "traces"]

Names = Mapping[AxisName, tuple[str, ...]]


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
        if isinstance(which, int):
            if 0 <= which < len(self.sites):
                return self.sites[which]
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
    passages = predictor.passages
    if passages is not None and passages.languages:
        bare = passages.bare(text)
        (part,) = passages.parts(bare, passages.target(text, to), whole=True)
        if part.read:
            return _part_of(predictor, bare, part, own, prefix, truncate)
    return _seen(predictor, text, own, prefix, truncate)


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
    answer = found.answer
    row, names = forced(task, text, answer)
    axes = _axes(task, text, answer, names)
    if answer.finish == "length":  # it never said the end, so no step looked for it
        row["target"] = row["target"][:-1]
    length = max(1, len(row["source"])) if not isinstance(task, Language) else 0
    batch = task.collate([row], length, len(row["target"])).to(device_of(model))
    with watch(model) as seen:
        logits = task.logits(model, batch)
    sites = tuple(_site(seen, path, names, axes, model) for path in seen)
    named = _names(task)
    ids = _said(task, answer, row)
    tree = None if found.tree is None else tree_of(found.tree, ids, named)
    steps = steps_of(_read_logits(task, text, logits), ids, named, found.given)
    return Trace(task.name, name, text, answer, steps, axes, sites, tree)


def _predictor(run: Predictor | Run | str | Path) -> Predictor:
    match run:
        case Predictor():
            return run
        case Run():
            return Predictor(run, run.load_model())
        case _:
            return Predictor.load(run)


def _site(
    seen: Seen, path: str, names: Names, axes: Mapping[str, Axis], model: Model
) -> TracedSite:
    sides = axes_of(path, names)
    sizes = len(axes[sides[0]]), len(axes[sides[1]])
    return observe(seen, path, sides, sizes, isinstance(model.reader, Pointer))


def _axes(task: Task, text: str, answer: Prediction, names: Names) -> dict[str, Axis]:
    """The tokens with their words, where text was cut into pieces."""
    ended = (END,) if answer.finish != "length" else ()
    match task:
        case Translate():
            target = axis_of(task.target, (*answer.ids, *ended))
            source = typed(task.source, text, after=(END,))
            said = target.later(task.target.piece(BEGIN))
            return {"source": source, "target": target, "said": said}
        case Language():
            target = axis_of(task.codec, (*answer.ids, *ended))
            return {"target": target, "said": target.later(task.codec.piece(BEGIN))}
        case Tag():
            words = words_of(text)
            pieces, starts = task.pieces(words)
            owners = np.searchsorted(starts, np.arange(len(pieces)), side="right") - 1
            source = Axis(names["source"], tuple(owners.tolist()), tuple(words))
            return {"source": source, "target": Axis.whole(answer.symbols)}
        case Classify():
            source = typed(task.source, text, before=(BEGIN,))
            return {"source": source, "one": Axis.whole(names["one"])}
        case _:
            axes: dict[str, Axis] = {side: Axis.whole(own) for side, own in names.items()}
            if not ended:
                for name in ("target", "said"):
                    axes[name] = Axis.whole(axes[name].pieces[:-1])
            return axes


def _names(task: Task) -> Name:
    match task:
        case Translate():
            return task.target.piece
        case Language():
            return task.codec.piece
        case Tag() | Classify():
            return task.labels.decode
        case _:
            return lambda place: "stop" if place == 0 else str(place - 1)


def _said(task: Task, answer: Prediction, row: Mapping[str, np.ndarray]) -> list[int]:
    """The ids that the steps said, the end included."""
    if isinstance(task, (Tag, Classify)):
        return list(answer.ids)
    return row["target"].tolist()


def _read_logits(task: Task, text: str, logits: torch.Tensor) -> Float[torch.Tensor, "step choice"]:
    """The logits that a step was said from: for a tagger, those of each word's first piece."""
    match task:
        case Tag():
            _, starts = task.pieces(words_of(text))
            return logits[0, torch.from_numpy(starts).to(logits.device)]
        case Classify():
            return logits[:1]
        case _:
            return logits[0]
