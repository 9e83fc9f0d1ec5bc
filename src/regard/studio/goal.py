"""Into which language a text goes when nobody said, and whether there is anything in it to translate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.errors import UsageError
from regard.text.keep import tag
from regard.text.language import NAMES, guess

if TYPE_CHECKING:
    from regard.answer.predictor import Predictor


def goal_of(predictor: Predictor, text: str, to: str | None) -> str | None:
    """The language asked for; else English from another, and from English the first other one of its card."""
    known = predictor.passages.languages if predictor.passages is not None else ()
    if to is not None or not known or text.startswith(tuple(map(tag, known))):
        return to
    own = guess(text)
    if own is not None and own != "en" and "en" in known:
        return "en"
    listed = predictor.card.languages if predictor.card is not None else ()
    ordered = [*(name for name in listed if name in known), *known]
    return next((name for name in ordered if name not in ("en", own)), known[0])


def check_goal(predictor: Predictor, text: str) -> None:
    """Refuse a text in which there is nothing to translate: the model would only make something up."""
    passages = predictor.passages
    if passages is None or not passages.languages or not text.strip():
        return
    if any(part.read for part in passages.parts(passages.bare(text), None, whole=True)):
        return
    known = ", ".join(NAMES.get(name, name) for name in passages.languages)
    raise UsageError(
        "there is nothing here to translate",
        "",
        f"write {known}; numbers, addresses and other scripts stay as they are",
    )
