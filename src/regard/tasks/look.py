"""Where a model looked for one answer: decode, then force the winner under `watch`.

Attention never travels through search. The replay shows the weights that stepping had; a law test says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
import torch
from torch import Tensor

from regard.attention import watch
from regard.attention.watch import Seen
from regard.decode import DecodeSettings
from regard.errors import UsageError
from regard.models import Model
from regard.tasks.classify import Classify
from regard.tasks.language import Language
from regard.tasks.point import Point, items_of
from regard.tasks.tag import Tag, words_of
from regard.tasks.task import Prediction, Task, device_of
from regard.tasks.translate import Translate
from regard.text import BEGIN, END

Axis = Literal["source", "items", "target", "said", "one"]


@final
@dataclass(frozen=True, eq=False)
class Site:
    """One attention of the model: which tokens its queries and keys are, and the weights of every head."""

    path: str
    queries: Axis
    keys: Axis
    weights: np.ndarray  # (heads, query, key)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.weights.shape))
        return f"Site({self.path}, {self.queries} looks at {self.keys}, {shape})"


@final
@dataclass(frozen=True, eq=False)
class Sight:
    """An answer and where the model looked for it.

    `axes` names the tokens: source; target, which each step found; said, which each step had read; one, the
    label of a whole text. A pointer's source has the stop sign in front, and `items` is the rest of it.
    """

    prediction: Prediction
    axes: dict[Axis, tuple[str, ...]]
    sites: tuple[Site, ...]

    def __repr__(self) -> str:
        return f"Sight({self.prediction.text[:60]!r}, {len(self.sites)} sites)"

    def site(self, path: str | None = None) -> Site:
        """The site of this path, or the one that best shows where the answer comes from."""
        for site in self.sites:
            if path is not None and site.path == path:
                return site
        if not self.sites:
            raise UsageError(
                "this model has no attention to look at",
                remedy="ask for answers alone",
                where="look",
            )
        if path is not None:
            known = ", ".join(site.path for site in self.sites)
            raise UsageError(f"no site '{path}'", where="site", remedy=f"there are: {known}")
        facing = [site for site in self.sites if site.keys == "source" and site.queries != "source"]
        return (facing or list(self.sites))[-1]


@torch.inference_mode()
def look(
    task: Task, model: Model, text: str, settings: DecodeSettings, answer: Prediction | None = None
) -> Sight:
    """Predict, then replay the winner and keep every weight."""
    model.eval()
    answer = answer or task.predict(model, [text], settings)[0]
    row, axes = forced(task, text, answer)
    seen, _ = watched(task, model, row)
    sites = []
    for path in seen:
        queries, keys = axes_of(path, axes)
        weights = seen.weights(path)[0].float().cpu().numpy()
        # Nothing at all is read as one void place, which has no name.
        real = weights[:, : len(axes[queries]), : len(axes[keys])]
        sites.append(Site(path, queries, keys, real))
    return Sight(answer, axes, tuple(sites))


def watched(task: Task, model: Model, row: Mapping[str, np.ndarray]) -> tuple[Seen, Tensor]:
    """One row forced through the model: what every attention did, and the logits."""
    source_length = max(1, len(row["source"])) if not isinstance(task, Language) else 0
    batch = task.collate([row], source_length, len(row["target"])).to(device_of(model))
    with watch(model) as seen:
        logits = task.logits(model, batch)
    return seen, logits


def axes_of(path: str, axes: Mapping[Axis, tuple[str, ...]]) -> tuple[Axis, Axis]:
    """Which tokens stand along a site's sides, by where in the model it is."""
    parts = path.split(".")
    if parts[0] == "encoder":
        return ("items", "items") if "items" in axes else ("source", "source")
    if "pool" in parts:
        return "one", "source"
    if "blocks" in parts and "cross" not in parts:
        return "said", "said"
    return "target", "source"


def forced(
    task: Task, text: str, answer: Prediction
) -> tuple[dict[str, np.ndarray], dict[Axis, tuple[str, ...]]]:
    """The row that forces this answer, and the names of its tokens."""
    row: dict[str, np.ndarray]
    match task:
        case Translate():
            ids = task.source.encode(text)
            target = np.array([*answer.ids, END], np.int32)
            row = {"source": np.array([*ids, END], np.int32), "target": target}
            names = tuple(task.source.piece(number) for number in (*ids, END))
            found = tuple(task.target.piece(int(number)) for number in target)
            said = (task.target.piece(BEGIN), *found[:-1])
            return row, {"source": names, "target": found, "said": said}
        case Language():
            # The symbols that were found: encoding their text again might cut it elsewhere.
            row = {
                "source": np.empty(0, np.int32),
                "target": np.array([*answer.ids, END], np.int32),
            }
            found = tuple(task.codec.piece(int(number)) for number in row["target"])
            return row, {"target": found, "said": (task.codec.piece(BEGIN), *found[:-1])}
        case Tag():
            pieces, _ = task.pieces(words_of(text))
            names = tuple(task.source.piece(int(number)) for number in pieces)
            row = {"source": pieces, "target": np.zeros(len(pieces), np.int32)}
            return row, {"source": names, "target": answer.symbols}
        case Classify():
            pieces = np.array([BEGIN, *task.source.encode(text)], np.int32)
            names = tuple(task.source.piece(int(number)) for number in pieces)
            row = {"source": pieces, "target": np.zeros(1, np.int32)}
            return row, {"source": names, "one": (answer.text,)}
        case Point():
            items = items_of(text)
            places = [int(name) + 1 for name in answer.symbols]
            row = {
                "source": np.array(items, np.float32).reshape(len(items), task.features),
                "target": np.array([*places, 0], np.int32),
            }
            names = ("stop", *(",".join(f"{n:g}" for n in item) for item in items))
            found = (*answer.symbols, "stop")
            said = ("start", *found[:-1])
            return row, {"source": names, "items": names[1:], "target": found, "said": said}
        case _:
            raise NotImplementedError(type(task))


def average(site: Site, heads: Sequence[int] | None = None) -> np.ndarray:
    """The mean over heads, (query, key)."""
    chosen = site.weights if heads is None else site.weights[list(heads)]
    return chosen.mean(0)
