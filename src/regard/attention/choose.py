"""The closed sets: every score and normaliser by its one-word name, and what a person may give for one."""

from __future__ import annotations

from typing import get_args

from regard.attention.normalise import (
    Entmax15,
    Gumbel,
    Hard,
    Normaliser,
    Proportional,
    Relu,
    Sampled,
    Sigmoid,
    Softmax,
    Sparsemax,
)
from regard.attention.score import (
    Additive,
    Cosine,
    Covered,
    Dot,
    FeatureMap,
    General,
    Location,
    LocationAware,
    ScaledDot,
    Score,
)
from regard.errors import UsageError, kind_of, nearest
from regard.settings.architecture import ChoosingName, NormaliserName, NoticingName, ScoreName

SCORES: tuple[ScoreName, ...] = get_args(ScoreName)
NOTICING: tuple[NoticingName, ...] = get_args(NoticingName)
NORMALISERS: tuple[NormaliserName, ...] = get_args(NormaliserName)
CHOOSING: tuple[ChoosingName, ...] = get_args(ChoosingName)


def make_score(
    name: str,
    *,
    query_width: int,
    key_width: int,
    num_heads: int = 1,
    neurons: int | None = None,
    max_length: int = 512,
) -> Score:
    """A score to learn, for queries and keys of these widths."""
    if name in ("dot", "scaled-dot", "cosine", "feature-map") and query_width != key_width:
        raise UsageError(
            f"the {name} score multiplies query and key neuron by neuron: "
            f"width {query_width} does not meet width {key_width}",
            where="score",
            remedy="make the widths equal, or take general or additive",
        )
    match name:
        case "dot":
            return Dot()
        case "scaled-dot":
            return ScaledDot()
        case "general":
            return General(query_width, key_width, num_heads)
        case "additive":
            return Additive(query_width, key_width, neurons or query_width, num_heads)
        case "coverage":
            return Covered(query_width, key_width, neurons or query_width, num_heads)
        case "location-aware":
            return LocationAware(query_width, key_width, neurons or query_width, num_heads)
        case "cosine":
            return Cosine(sharpness=10.0, learn=True)
        case "location":
            return Location(query_width, max_length, num_heads)
        case "feature-map":
            return FeatureMap()
        case _:
            known = (*SCORES, *NOTICING)
            raise UsageError(f"no score '{name}'", where="score", remedy=nearest(name, known))


def make_normaliser(name: str, *, soft_share: float = 0.0) -> Normaliser:
    """A normaliser by its name; `soft_share` is for those that draw, see `Sampled`."""
    match name:
        case "softmax":
            return Softmax()
        case "sparsemax":
            return Sparsemax()
        case "entmax-1.5":
            return Entmax15()
        case "relu":
            return Relu()
        case "sigmoid":
            return Sigmoid()
        case "hard":
            return Hard()
        case "gumbel":
            return Gumbel()
        case "sampled":
            return Sampled(soft_share)
        case "proportional":
            return Proportional()
        case _:
            known = (*NORMALISERS, *CHOOSING)
            raise UsageError(
                f"no normaliser '{name}'", where="normalise", remedy=nearest(name, known)
            )


def as_score(score: object, width: int | None = None, num_heads: int = 1) -> Score:
    """A score, or one to learn by its name, for queries and keys of this width."""
    if isinstance(score, Score):
        return score
    if not isinstance(score, str):
        raise UsageError(
            f"{_what(score)} is no score",
            where="score",
            remedy=f"give one of {', '.join(SCORES)}, or an object such as regard.ScaledDot()",
        )
    if width is None and score in ("general", "additive", "location", *NOTICING):
        made = {"general": "General(8, 8)", "additive": "Additive(8, 8, neurons=8)"}
        made["coverage"] = "Covered(8, 8, neurons=8)"
        made["location-aware"] = "LocationAware(8, 8, neurons=8)"
        raise UsageError(
            f"the {score} score has weights to learn, and needs the width of queries and keys",
            where="score",
            remedy=f"make one: regard.{made.get(score, 'Location(8, max_length=64)')}",
        )
    width = width or 1
    return make_score(score, query_width=width, key_width=width, num_heads=num_heads)


def as_normaliser(normaliser: object) -> Normaliser:
    """A normaliser, or one by its name."""
    if isinstance(normaliser, Normaliser):
        return normaliser
    if isinstance(normaliser, str):
        return make_normaliser(normaliser)
    raise UsageError(
        f"{_what(normaliser)} is no normaliser",
        where="normalise",
        remedy=f"give one of {', '.join(NORMALISERS)}, or an object such as regard.Softmax()",
    )


def _what(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else kind_of(value)
