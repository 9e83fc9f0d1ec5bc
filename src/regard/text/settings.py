"""The few dials of a vocabulary."""

from __future__ import annotations

import re
from itertools import permutations
from typing import Literal

from pydantic import Field, field_validator, model_validator

from regard.config import Settings

Kind = Literal["bpe", "unigram", "byte", "char", "word", "sentencepiece", "wordpiece", "byte-bpe"]
BROUGHT = ("sentencepiece", "wordpiece", "byte-bpe")  # kinds that come with a model

MOST_PIECES = 1 << 18  # more than any vocabulary in use has
SHORTEST_SYMBOL, LONGEST_SYMBOL = 3, 32
MOST_SYMBOLS = 1_000
FEWEST = 5  # 4 specials and something to learn
FEWEST_SUBWORDS = 300  # 4 specials, 256 bytes, and room for letters


class TextSettings(Settings):
    """How text is cut into pieces.

    `bpe` merges frequent neighbours, `unigram` keeps the likeliest pieces, and both fall back to bytes,
    so that nothing is unknown to them; `byte` and `char` cut everywhere; `word` cuts at words only.
    `sentencepiece`, `wordpiece` (BERT) and `byte-bpe` (GPT-2) come with models that are imported, and are
    not learned here.
    """

    kind: Kind = "bpe"
    """How text is cut into pieces."""
    vocabulary: int = Field(default=8000, ge=FEWEST, le=MOST_PIECES)
    """The largest number of pieces, specials included: 300 to 50,000 for subwords."""
    shared: bool = True
    """Whether source and target have one vocabulary."""
    lowercase: bool = False
    """Whether text is made lower-case before it is cut."""
    start: Literal["begin", "end"] = "begin"
    """The symbol that a decoder reads before its first word: one of its own, or the end symbol (L100)."""
    min_count: int = Field(default=1, ge=1)
    """Words and letters that occur less often get no piece of their own: 1 to 10."""
    lines: int | None = Field(default=None, ge=1)
    """The vocabulary is learned from so many lines, the first ones: 100,000 or more. By default from
    all."""
    # Pieces that are whole wherever they are typed, such as `>>de<<`; nothing else becomes one.
    symbols: tuple[str, ...] = Field(default=(), max_length=MOST_SYMBOLS)
    """Pieces that are whole wherever they are typed, such as >>de<<."""

    @field_validator("symbols")
    @classmethod
    def _are_signs(cls, symbols: tuple[str, ...]) -> tuple[str, ...]:
        for symbol in symbols:
            fault = _not_a_symbol(symbol)
            if fault:
                raise ValueError(f"'{symbol}' {fault}")
        if len(set(symbols)) < len(symbols):
            raise ValueError("a symbol is there twice")
        for symbol, other in permutations(symbols, 2):
            if symbol in other:
                raise ValueError(f"'{symbol}' is part of another symbol")
        return symbols

    @model_validator(mode="after")
    def _holds_what_is_reserved(self) -> TextSettings:
        subwords = self.kind in ("bpe", "unigram")
        fewest = (FEWEST_SUBWORDS if subwords else FEWEST) + len(self.symbols)
        if self.kind != "byte" and self.vocabulary < fewest:
            raise ValueError(f"a {self.kind} vocabulary needs room for at least {fewest} pieces")
        return self


def _not_a_symbol(symbol: str) -> str | None:
    """Why a text cannot be a symbol. Signs at its ends and a letter within: no word is ever cut so."""
    if not SHORTEST_SYMBOL <= len(symbol) <= LONGEST_SYMBOL:
        return f"has {len(symbol)} characters; a symbol has {SHORTEST_SYMBOL} to {LONGEST_SYMBOL}"
    if not symbol.isprintable() or " " in symbol:
        return "holds a space or a character that does not show"
    if symbol[0].isalnum() or symbol[-1].isalnum() or not any(map(str.isalnum, symbol)):
        return "must begin and end with a sign and hold a letter or digit, as `>>de<<` does"
    if symbol in ("<pad>", "<s>", "</s>", "<unk>") or re.fullmatch("<0x[0-9A-F]{2}>", symbol):
        return "is the name of a piece that every vocabulary has"
    return None
