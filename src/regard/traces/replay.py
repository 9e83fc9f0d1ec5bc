"""The winner once more, under `watch`: what each step could have said, and who looked where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float

from regard.attention.watch import Seen
from regard.models import Model, Pointer
from regard.tasks import Classify, Language, Prediction, Tag, Task, Translate
from regard.tasks.look import Axis as AxisName
from regard.tasks.look import axes_of, forced, watched
from regard.tasks.tag import words_of
from regard.text import BEGIN, END
from regard.traces.search import Found
from regard.traces.site import TracedSite, observe
from regard.traces.step import Name, TracedStep, Tree, steps_of, tree_of
from regard.traces.words import Axis, axis_of, typed

Names = Mapping[AxisName, tuple[str, ...]]


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
    answer = found.answer
    row, names = forced(task, text, answer)
    axes = _axes(task, text, answer, names)
    if answer.finish == "length":  # it never said the end, so no step looked for it
        row["target"] = row["target"][:-1]
    seen, logits = watched(task, model, row)
    sites = tuple(_site(seen, path, names, axes, model) for path in seen)
    named = _names(task)
    ids = _said(task, answer, row)
    steps = steps_of(_read_logits(task, text, logits), ids, named, found.given)
    tree = None if found.tree is None else tree_of(found.tree, steps, named)
    return Replay(axes, sites, steps, tree)


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
