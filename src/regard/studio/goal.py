"""Into which language a text goes when nobody said: what most people who type it would want."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.text.keep import languages, tag
from regard.text.language import guess

if TYPE_CHECKING:
    from regard.inspect.trace import Trace
    from regard.run.predictor import Predictor


def goal_of(predictor: Predictor, text: str, to: str | None) -> str | None:
    """The language asked for; else English from another, and from English the first other one it knows."""
    known = predictor.passages.languages if predictor.passages is not None else ()
    if to is not None or not known or text.startswith(tuple(map(tag, known))):
        return to
    own = guess(text)
    if own is not None and own != "en" and "en" in known:
        return "en"
    return next((name for name in known if name not in ("en", own)), known[0])


def written_in(trace: Trace) -> tuple[str, str]:
    """The languages of question and answer, by their codes; empty where the model knows but one pair."""
    source = trace.axes.get("source")
    asked = languages(source.pieces[:1]) if source is not None else ()
    return (guess(trace.question) or "", asked[0]) if asked else ("", "")
