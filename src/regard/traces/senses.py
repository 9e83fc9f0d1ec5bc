"""One word in many sentences: a state for each occurrence, beside the one vector of the word type (L5).

c_k = f(w_k | w_1 .. w_n): where a model separates senses, occurrences of one sense lie together, and the
nearest neighbour of an occurrence has its sense. The static embedding is the same vector every time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float, Int

from regard.errors import UsageError
from regard.layers import Embedding
from regard.models import Model, TransformerEncoder
from regard.seams import reference
from regard.tasks.axis import Axis
from regard.tasks.task import Task, device_of
from regard.traces.head_roles import is_special
from regard.traces.trace import Trace

_FRAME = re.compile(r"</?s>|\[(?:CLS|SEP)\]")  # what stands around a text
_UNREAD = re.compile(r"<0x[0-9A-F]{2}>|<unk>|\[UNK\]")
HALF = 0.5  # of the largest weight: what looks at a word less is not asked for its length
States = Float[np.ndarray, "occurrence width"]


@final
@dataclass(frozen=True)
class Occurrence:
    """A word in its sentence; `place` is its number among the words of `text`, which the model reads."""

    text: str
    place: int
    sense: str = ""  # as somebody said
    label: str = ""  # the word it was translated by
    shown: str = (
        ""  # the sentence as a person wrote it, where the model reads another: with a tag, say
    )
    span: tuple[int, int] | None = None  # the word's letters in what is shown


@final
@dataclass(frozen=True, eq=False)
class Senses:
    """All occurrences of a word, their states, and what follows from them."""

    word: str
    layer: int
    occurrences: tuple[Occurrence, ...]
    states: States
    static: States
    clusters: tuple[int, ...]

    @property
    def map(self) -> Float[np.ndarray, "occurrence 2"]:
        """The two directions of most variance (PCA)."""
        return plane(self.states)

    def neighbours(self, number: int, most: int = 5) -> list[tuple[int, float]]:
        """The occurrences most like one of them, with their cosines."""
        alike = cosines(self.states)[number]
        order = [int(n) for n in np.argsort(-alike, kind="stable") if n != number]
        return [(n, float(alike[n])) for n in order[:most]]

    def score(self, states: States | None = None) -> float | None:
        """How often the nearest neighbour has the same sense; where several are as near, their share."""
        senses = np.array([one.sense for one in self.occurrences])
        if len(set(senses.tolist())) < 2:
            return None
        alike = cosines(self.states if states is None else states)
        np.fill_diagonal(alike, -np.inf)
        nearest = alike >= alike.max(1, keepdims=True) - 1e-6
        same = senses[:, None] == senses[None]
        return float(((nearest & same).sum(1) / nearest.sum(1)).mean())

    def as_dict(self) -> dict[str, Any]:
        """For JSON: each occurrence with its place on the map."""
        return {
            "word": self.word,
            "layer": self.layer,
            "score": self.score(),
            "static_score": self.score(self.static),
            "occurrences": [
                {
                    "text": one.shown or one.text,
                    "span": one.span,
                    "sense": one.sense,
                    "label": one.label,
                    "map": [float(value) for value in at],
                    "static_map": [float(value) for value in static],
                    "cluster": cluster,
                    "neighbours": [[n, value] for n, value in self.neighbours(number)],
                }
                for number, (one, at, static, cluster) in enumerate(
                    zip(self.occurrences, self.map, plane(self.static), self.clusters, strict=True)
                )
            ],
        }


def find(
    word: str, texts: Mapping[str, Sequence[str]], words_of: Callable[[str], Axis]
) -> list[Occurrence]:
    """Every occurrence of a word, however it is capitalised, in texts by their sense ("" if unknown)."""
    occurrences = [
        Occurrence(text, place, sense)
        for sense, some in texts.items()
        for text in some
        for place, own in enumerate(words_of(text).words)
        if own.casefold() == word.casefold()
    ]
    if len(occurrences) < 2:
        raise UsageError(
            f"'{word}' occurs {len(occurrences)} times in these texts",
            where="word",
            remedy="give a corpus in which it stands more often",
        )
    return occurrences


def check_read(word: str, axis: Axis) -> None:
    """Refuse a word of which the model reads nothing but bytes or the unknown sign: it never learned to.

    `axis` is that of the word alone.
    """
    own = [piece for piece in axis.pieces if piece != "▁" and not _FRAME.fullmatch(piece)]
    if own and all(_UNREAD.fullmatch(piece) for piece in own):
        raise UsageError(
            f"this model cannot read '{word}': its vocabulary has no piece of it, and its states say nothing",
            where="word",
            remedy="bring a model that reads its language: regard senses FOLDER_OF_HUGGING_FACE WORD",
        )


def translated_by(seen: Trace, place: int) -> str:
    """The word of an answer that stands for this word of the source.

    An article looks at its noun, too, and sometimes more: of the words that look at this one most, and at
    least half as much as the first of them, it is the longest.
    """
    matrix, words = seen.alignment(), seen.axes["target"].words
    real = [number for number, own in enumerate(words) if not is_special(own)]
    own = [number for number in real if matrix[number].argmax() == place] or real
    most = max((float(matrix[number, place]) for number in own), default=0.0)
    near = [number for number in own if matrix[number, place] >= HALF * most]
    return max((words[number] for number in near), key=len, default="")


def study(
    task: Task,
    model: Model,
    word: str,
    occurrences: Sequence[Occurrence],
    axis_of: Callable[[str], Axis],
    layer: int | None = None,
    clusters: int = 2,
) -> Senses:
    """The states of all occurrences behind a layer (0: before the first; default: the last)."""
    return at_layer(studied(task, model, word, occurrences, axis_of, clusters), layer)


def at_layer(layers: Sequence[Senses], layer: int | None) -> Senses:
    """One of all layers; by default the last."""
    top = len(layers) - 1
    layer = top if layer is None else layer
    if not 0 <= layer <= top:
        raise UsageError(f"there is no layer {layer}", "layer", f"choose 0 to {top}")
    return layers[layer]


@torch.inference_mode()
def studied(
    task: Task,
    model: Model,
    word: str,
    occurrences: Sequence[Occurrence],
    axis_of: Callable[[str], Axis],
    clusters: int = 2,
) -> list[Senses]:
    """The same behind every layer, from 0, which is before the first."""
    encoder = encoder_of(model)
    embedding = encoder.embedding
    assert isinstance(embedding, Embedding)
    model.eval()
    states: list[list[torch.Tensor]] = []
    static = []
    for one in occurrences:
        ids = (
            torch.from_numpy(np.asarray(task.only_read(one.text)[0]))
            .long()[None]
            .to(device_of(model))
        )
        pieces = [n for n, own in enumerate(axis_of(one.text).word_ids) if own == one.place]
        static.append(embedding.table.weight[ids[0, pieces]].mean(0))
        states.append([behind[pieces].mean(0) for behind in _layers(encoder, ids)])
    types = torch.stack(static).float().cpu().numpy()
    rows = []
    for layer, some in enumerate(zip(*states, strict=True)):
        own = torch.stack(some).float().cpu().numpy()
        rows.append(Senses(word, layer, tuple(occurrences), own, types, grouped(own, clusters)))
    return rows


def encoder_of(model: Model) -> TransformerEncoder:
    """The layers behind which states are compared; an error where there are none."""
    encoder = model.encoder
    if not isinstance(encoder, TransformerEncoder) or not isinstance(encoder.embedding, Embedding):
        raise UsageError(
            "this model has no Transformer encoder of tokens",
            "model",
            "take a Transformer that reads text",
        )
    return encoder


def _layers(encoder: TransformerEncoder, ids: torch.Tensor) -> Iterator[torch.Tensor]:
    """The states behind each block, normed as the last ones are."""
    states = encoder.embed(ids, None).states
    with reference():  # block by block, as the formulas say
        for block in (None, *encoder.blocks):
            states = states if block is None else block(states, encoder.mask)
            yield states[0] if encoder.norm is None else encoder.norm(states)[0]


def cosines(states: States) -> Float[np.ndarray, "occurrence occurrence"]:
    """Between all pairs."""
    unit = states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-12)
    return (unit @ unit.T).astype(np.float64)


def plane(states: States) -> Float[np.ndarray, "occurrence 2"]:
    """Coordinates along the two principal components; signs are such that the largest is positive."""
    centred = torch.from_numpy(states - states.mean(0)).double()
    left, scale, _ = torch.linalg.svd(centred, full_matrices=False)
    points = (left * scale)[:, :2].numpy()
    if points.shape[1] < 2:
        points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
    largest = points[np.abs(points).argmax(0), np.arange(2)]
    return points * np.where(largest < 0, -1.0, 1.0)


def grouped(states: States, count: int, rounds: int = 50) -> tuple[int, ...]:
    """k-means by cosine, begun with the two most unlike states and then those farthest from all chosen."""
    alike = cosines(states)
    count = min(count, len(states))
    chosen = [int(n) for n in np.unravel_index(alike.argmin(), alike.shape)][: max(1, count)]
    while len(chosen) < count:
        chosen.append(int(alike[:, chosen].max(1).argmin()))
    unit = states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-12)
    centres = unit[chosen]
    owner: Int[np.ndarray, " occurrence"] = np.zeros(len(states), int)
    for _ in range(rounds):
        fresh = (unit @ centres.T).argmax(1)
        if (fresh == owner).all():
            break
        owner = fresh
        centres = np.stack(
            [unit[owner == n].mean(0) if (owner == n).any() else centres[n] for n in range(count)]
        )
    return tuple(int(n) for n in owner)
