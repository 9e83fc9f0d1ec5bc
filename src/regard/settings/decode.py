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
    """Hypotheses followed at a time; 1 is greedy."""
    top_beams: PositiveInt = 1
    """Answers given."""
    penalty: Penalty = "gnmt"
    """What a hypothesis is divided by: nothing, its length, or (5 + length) / 6."""
    alpha: float = Field(default=0.6, ge=0, le=10)
    """The power of the length by which sums of log-probabilities are divided."""
    min_length: NonNegativeInt = 0
    """The fewest symbols of an answer."""
    max_length: PositiveInt = 256
    """The most."""
    sample: bool = False
    """Draw instead of choosing."""
    temperature: PositiveFloat = 1.0
    """Of drawing: lower is bolder about what is likely."""
    top_k: NonNegativeInt = 0
    """Draw from so many of the likeliest; 0 is all."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Draw from the likeliest that make up this share."""
    seed: int = 1
    """Of drawing."""
    sure: float = Field(default=0.0, ge=0, lt=1)
    """Of one label a text: where its probability is lower, people are told `unsure`; 0 tells it always."""
    unsure: str = Field(default="unsure", min_length=1)
    """What they are told then, such as neutral. No score counts it: a test judges the label itself."""

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
    """Share of the probability that label smoothing gives to all other symbols, from 0 to below 1."""
    agreement: NonNegativeFloat = 0.0
    """How strongly two passes with different dropout must agree (R-Drop); 5 helps small corpora."""
    coverage: NonNegativeFloat = 0.0
    """Weight of the coverage loss, which punishes attending twice to the same place; 1 is usual."""
    entropy: float = 0.0
    """Weight of the attention's entropy: above 0 makes attention sharper, below 0 broader."""
    disagreement: NonNegativeFloat = 0.0
    """Weight of how alike the heads of one attention look; above 0 drives heads apart."""
    reinforce: NonNegativeFloat = 1.0
    """Weight of REINFORCE, by which sampled attention learns where to look: 0 to 1; no other model has it."""
    baseline: Share = 0.9
    """Share that the moving baseline of REINFORCE keeps with each batch, 0 to 0.99; its start is 0."""
    credit: Credit = "later"
    """What a sampled choice is rewarded by: symbols that it can change, or the whole sentence (Xu 2015)."""
    l0: NonNegativeFloat = 0.0
    """Loss a symbol that each open head costs, in nats: above 0 closes heads; 0.001 to 0.1 is sensible."""
