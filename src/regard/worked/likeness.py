"""Words as vectors: how long they are, and how alike (L1-L4)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention import align
from regard.worked.worked_example import Numbers, Row, Slip, Step, Worked, matrix, plain

Words = Mapping[str, Numbers]

TABLES: Mapping[str, Words] = {
    "one-hot (L1)": {
        "This": (0, 0, 1, 0),
        "is": (1, 0, 0, 0),
        "a": (0, 1, 0, 0),
        "cat": (0, 0, 0, 1),
    },
    "embedding (L2)": {
        "dog": (0.3645, 0.9507, 0.7320, 0.5987),
        "cat": (0.2949, 0.7559, 0.6172, 0.4943),
    },
    "five cells (L3)": {
        "the": (0, 0, 0, 0, 1),
        "black": (0, 1, 0, 0, 0),
        "cat": (1, 0, 0, 0, 0),
        "ate": (0, 0, 1, 1, 0),
        "mouse": (0, 0, 1, 0, 0),
    },
    "four cells (L4)": {
        "Je": (0.901, -0.651, -0.194, -0.822),
        "suis": (-0.351, 0.123, 0.435, -0.200),
        "étudiant": (0.081, 0.458, -0.400, 0.480),
    },
}

SLIPS = (
    Slip(
        "L2",
        "correlation, embedding (L2)",
        0.996,
        0.997,
        "Pearson's correlation of dog and cat is 0.99677; the slide cuts it off where it should round. Their "
        "cosine is 0.99968.",
    ),
    Slip(
        "L3",
        "cosine, five cells (L3)",
        "ate = [0 0 1 1 0]",
        "ate = [0 0 0 1 0]",
        "A one-hot word has a single 1. With two of them ate meets mouse, [0 0 1 0 0]: their cosine is "
        "0.70711, where any two words should have 0.",
    ),
)


def word_vectors(tables: Mapping[str, Words] = TABLES) -> Worked:
    """Norms, cosines and correlations of the words of each table."""
    given, steps, closest = [], [], []
    for name, words in tables.items():
        labels = tuple(words)
        vectors = matrix(name, list(words.values()))
        alike = cosines(vectors)
        given.append(Step(name, "", plain(vectors), rows=labels))
        steps += [
            Step(f"norm, {name}", "|w| = sqrt(w . w)", plain(vectors.norm(dim=-1)), columns=labels),
            Step(f"cosine, {name}", "u . w / |u| |w|", plain(alike), labels, labels),
            Step(
                f"correlation, {name}",
                "the cosine after each word's own mean is taken away (Pearson)",
                plain(cosines(vectors - vectors.mean(-1, keepdim=True))),
                labels,
                labels,
            ),
        ]
        closest.append(_closest(alike, labels))
    result = Step(
        "most alike",
        "of each table, the two words with the highest cosine",
        tuple(closest),
        tuple(tables),
    )
    return Worked("cos(u, w) = u . w / |u| |w|", tuple(given), tuple(steps), result, SLIPS)


def cosines(vectors: Float[Tensor, "words width"]) -> Float[Tensor, "words words"]:
    """The content-based score of each word with each."""
    return torch.clamp(align(vectors, vectors, score="cosine").scores[0, 0], -1.0, 1.0)


def _closest(alike: Float[Tensor, "words words"], labels: tuple[str, ...]) -> Row:
    pairs = combinations(range(len(labels)), 2)
    one, other = max(pairs, key=lambda pair: float(alike[pair]), default=(0, 0))
    return f"{labels[one]}, {labels[other]}", float(alike[one, other])
