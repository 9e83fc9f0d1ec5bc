"""The few dials of a vocabulary."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from regard.config import Settings

Kind = Literal["bpe", "unigram", "byte", "char", "word"]

MOST_PIECES = 1_000_000
FEWEST_SUBWORDS = 300  # 4 specials, 256 bytes, and room for letters


class TextSettings(Settings):
    """How text is cut into pieces.

    `bpe` merges frequent neighbours, `unigram` keeps the likeliest pieces, and both fall back to bytes,
    so that nothing is unknown to them; `byte` and `char` cut everywhere; `word` cuts at words only.
    """

    kind: Kind = "bpe"
    vocabulary: int = Field(default=8000, ge=5, le=MOST_PIECES)  # an upper bound, specials included
    shared: bool = True  # one vocabulary for source and target
    lowercase: bool = False
    min_count: int = Field(default=1, ge=1)  # rarer words and letters get no piece of their own

    @model_validator(mode="after")
    def _holds_the_bytes(self) -> TextSettings:
        if self.kind in ("bpe", "unigram") and self.vocabulary < FEWEST_SUBWORDS:
            raise ValueError(
                f"a {self.kind} vocabulary needs room for at least {FEWEST_SUBWORDS} pieces"
            )
        return self
