"""The vectors of words themselves: a map of the most frequent ones, their groups and neighbours (L2).

An embedding is one vector a word, whatever stands around it. Words that are used alike come to lie together
(Mikolov 2013); what a map in two dimensions shows of that is told with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Float

from regard.errors import UsageError
from regard.layers import Embedding
from regard.models import Model
from regard.tasks.task import Task
from regard.text import Codec
from regard.traces.senses import cosines, grouped, plane

SHORTEST = 3  # letters: shorter pieces are seldom words


@final
@dataclass(frozen=True, eq=False)
class WordMap:
    """Words with their vectors and groups, the most frequent word first."""

    words: tuple[str, ...]
    vectors: Float[np.ndarray, "word width"]
    groups: tuple[int, ...]

    @cached_property
    def map(self) -> Float[np.ndarray, "word 2"]:
        """Along the two principal components."""
        return plane(self.vectors)

    @cached_property
    def _alike(self) -> Float[np.ndarray, "word word"]:
        return cosines(self.vectors)

    @property
    def explained(self) -> float:
        """The share of the variance that the map shows."""
        centred = self.vectors - self.vectors.mean(0)
        return float((self.map**2).sum() / (centred**2).sum())

    def near(self, number: int, most: int = 5) -> list[tuple[str, float]]:
        """The words most like one of them, with their cosines."""
        alike = self._alike[number]
        order = [int(n) for n in np.argsort(-alike, kind="stable") if n != number][:most]
        return [(self.words[n], float(alike[n])) for n in order]

    def named(self, most: int = 8) -> list[str]:
        """Each group by its members that are most like all the others of it."""
        names = []
        for group in range(max(self.groups) + 1):
            members = [n for n, own in enumerate(self.groups) if own == group]
            central = sorted(members, key=lambda n: -self._alike[n, members].sum())[:most]
            names.append(", ".join(self.words[n] for n in central))
        return names

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "explained": self.explained,
            "groups": self.named(),
            "words": [
                {
                    "word": word,
                    "map": [float(value) for value in at],
                    "group": group,
                    "neighbours": [[name, value] for name, value in self.near(number)],
                }
                for number, (word, at, group) in enumerate(
                    zip(self.words, self.map, self.groups, strict=True)
                )
            ],
        }


def word_map(task: Task, model: Model, most: int = 200, groups: int = 8) -> WordMap:
    """The first pieces of the vocabulary that begin a word, which are its most frequent ones, as they are.

    Most are words; where a vocabulary has subwords, some are beginnings of words.
    """
    side = model.reader if model.encoder is None else model.encoder
    embedding = getattr(side, "embedding", None)
    codec = getattr(task, "target" if task.reads_nothing else "source", None)
    if not isinstance(embedding, Embedding) or not isinstance(codec, Codec):
        raise UsageError(
            "this model has no vectors of words", "model", "take a model that reads text"
        )
    ids = [number for number in range(codec.size) if _is_word(codec.piece(number))][:most]
    if len(ids) < 2:
        raise UsageError(
            "this vocabulary has no whole words", "text.kind", "take a model that learned words"
        )
    words = tuple(codec.piece(number).lstrip("▁") for number in ids)
    vectors = embedding.table.weight.detach()[ids].float().cpu().numpy()
    return WordMap(words, vectors, grouped(vectors, groups))


def _is_word(piece: str) -> bool:
    """`▁house`, not `ing` or `▁3`."""
    return piece.startswith("▁") and len(piece) > SHORTEST and piece[1:].isalpha()
