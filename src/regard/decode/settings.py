"""How to generate: one group of settings for every search."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from regard.config import Settings

Penalty = Literal["none", "average", "gnmt"]


class DecodeSettings(Settings):
    """Beam search by default; `beam = 1` is greedy; `sample` draws instead of choosing."""

    beam: PositiveInt = 4
    top_beams: PositiveInt = 1
    penalty: Penalty = "gnmt"
    alpha: float = Field(default=0.6, ge=0)
    min_length: NonNegativeInt = 0
    max_length: PositiveInt = 256
    sample: bool = False
    temperature: PositiveFloat = 1.0
    top_k: NonNegativeInt = 0
    top_p: float = Field(default=1.0, gt=0, le=1)
    seed: int = 1

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
