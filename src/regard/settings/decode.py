"""How a model generates, and what its training minimises: two groups of settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from regard.config import Settings, parse
from regard.errors import UsageError, kind_of
from regard.settings.architecture import Credit, Penalty


class DecodeSettings(Settings):
    """Beam search by default; `beam = 1` is greedy; `sample` draws instead of choosing."""

    beam: PositiveInt = 4
    """How many hypotheses beam search follows: 1 (greedy) to 12."""
    top_beams: PositiveInt = 1
    """How many answers are given: 1 to the beam."""
    penalty: Penalty = "gnmt"
    """What the log-probability of a hypothesis is divided by, to the power alpha: nothing, its length, or
    (5 + length) / 6 (Wu 2016)."""
    alpha: float = Field(default=0.6, ge=0, le=10)
    """The power of the length penalty: 0 (none) to 1 (the mean log-probability)."""
    min_length: NonNegativeInt = 0
    """The smallest number of symbols of an answer: 0 to max_length."""
    max_length: PositiveInt = 256
    """The largest number of symbols of an answer: 16 to 1,024."""
    sample: bool = False
    """Whether symbols are drawn at random by their probabilities, instead of searched for."""
    temperature: PositiveFloat = 1.0
    """What logits are divided by when symbols are drawn: 0.5 to 1.5. Lower values keep to probable
    symbols."""
    top_k: NonNegativeInt = 0
    """Symbols are drawn from so many of the most probable ones: 10 to 100, or 0 for all."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Symbols are drawn from the most probable ones that have this share of all probability: 0.8 to 1."""
    seed: int = 1
    """The seed of the random numbers by which symbols are drawn."""
    sure: float = Field(default=0.0, ge=0, lt=1)
    """A label less probable than this is told as `unsure`: 0 (never) to 0.9."""
    unsure: str = Field(default="unsure", min_length=1)
    """The word for a label that is not probable enough, such as neutral. No score counts it, since a test
    judges the label itself."""

    @model_validator(mode="after")
    def _consistent(self) -> DecodeSettings:
        if self.top_beams > self.beam and not self.sample:
            raise ValueError(
                f"top_beams = {self.top_beams} asks for more than beam = {self.beam} follows"
            )
        if self.min_length > self.max_length:
            raise ValueError(
                f"min_length = {self.min_length} is past max_length = {self.max_length}"
            )
        return self


def changed(settings: DecodeSettings, changes: Mapping[str, Any]) -> DecodeSettings:
    """These settings with some others in their place; more alternatives widen a beam nobody named."""
    if not isinstance(settings, DecodeSettings):
        what = f"how to answer is said by DecodeSettings, and this is {kind_of(settings)}"
        raise UsageError(what, where="decode", remedy="regard.DecodeSettings(beam=5)")
    given = {name: value for name, value in changes.items() if value is not None}
    tree = {**settings.model_dump(), **given}
    if any(isinstance(tree[name], str) for name in ("beam", "top_beams")):
        return parse(DecodeSettings, tree, where="decode")  # says what a text should be
    if tree["top_beams"] > tree["beam"]:
        if "top_beams" not in given:
            tree["top_beams"] = tree["beam"]
        elif "beam" in given and not tree["sample"]:
            raise UsageError(
                f"a beam of {tree['beam']} cannot give {tree['top_beams']} alternatives",
                where="top_beams (--n-best)",
                remedy=f"widen the beam to {tree['top_beams']}, or ask for fewer",
            )
        tree["beam"] = max(tree["beam"], tree["top_beams"])
    return parse(DecodeSettings, tree, where="decode")


Share = Annotated[float, Field(ge=0, lt=1)]


class ObjectiveSettings(Settings):
    """A sum of terms; the negative log-likelihood of the right answer always counts with weight 1."""

    smoothing: Share = 0.1
    """The share of probability that label smoothing gives to all other symbols: 0 to 0.2."""
    agreement: NonNegativeFloat = 0.0
    """The weight of R-Drop, by which two passes with different dropout must agree: 0 to 5. Small corpora
    gain most."""
    coverage: NonNegativeFloat = 0.0
    """The weight of the coverage loss, which punishes attending twice to the same place (See 2017): 0 to
    1."""
    entropy: float = 0.0
    """The weight of the attention's entropy: -0.1 (broader attention) to 0.1 (sharper attention)."""
    disagreement: NonNegativeFloat = 0.0
    """The weight of how alike the heads of one attention look: 0 to 1. Above 0 drives heads apart."""
    reinforce: NonNegativeFloat = 1.0
    """The weight of REINFORCE, by which sampled attention learns where to look: 0 to 1. Other models have
    none."""
    baseline: Share = 0.9
    """The share that the moving baseline of REINFORCE keeps with each batch: 0 to 0.99. It starts at 0."""
    credit: Credit = "later"
    """What a sampled choice is rewarded by: the symbols that it can change (later), or the whole sentence
    (Xu 2015)."""
    l0: NonNegativeFloat = 0.0
    """The loss a symbol that each open head costs, in nats: 0.001 to 0.1 closes heads, and 0 costs
    nothing."""
