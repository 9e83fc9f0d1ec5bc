"""Symbols that a person chose, by the names the page shows: looked up once a vocabulary, not each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.studio.refusal import Refusal

if TYPE_CHECKING:
    from regard.answer.predictor import Predictor

WORDS = 32  # names that are no symbol of their own, and must be cut into some


def symbols_of(predictor: Predictor, prefix: Sequence[int | str]) -> list[int | str]:
    """Names of symbols as their ids; what has no such name is left for the library to understand."""
    known = predictor.run.task.named
    if not known:
        return list(prefix)
    found = [known.get(one, one) if isinstance(one, str) else one for one in prefix]
    others = sum(isinstance(one, str) for one in found)
    if others > WORDS:
        what = f"{others} names are no symbols of this model; the limit is {WORDS}"
        raise Refusal(422, what, "prefix", "take them from the steps of a trace")
    return found
