"""What is checked about a question before anybody waits: its cost, its language, the symbols it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.errors import UsageError
from regard.studio.refusal import Refusal
from regard.studio.settings import Limits
from regard.text.keep import tag
from regard.text.languages import NAMES, guess

if TYPE_CHECKING:
    from regard.answer.predictor import Predictor
    from regard.decode import DecodeSettings


def check_cost(predictor: Predictor, text: str, settings: DecodeSettings, limits: Limits) -> None:
    """Refuse, with the limit and the value, what would take too long or too much memory (S3)."""
    task = predictor.run.task
    symbols = task.count(text)
    _within("text", "symbols", symbols, limits.symbols)
    written = settings.max_length if task.named else symbols + 1
    _within("beam", "symbols x beam", (symbols + written) * settings.beam, limits.steps)
    longest = symbols + written if task.sides == "target" else max(symbols, written)
    _within("text", "attention weights", heads_of(predictor) * longest**2, limits.cells)
    predictor.fitting([text])


def check_files(predictor: Predictor, *texts: str) -> None:
    """A page may send a picture or a sound; of this machine's files it may name the run's own examples."""
    task = predictor.run.task
    named = {name for text in texts for name in task.files(text)}
    if named and not named <= {
        name for own, _ in predictor.run.probes() for name in task.files(own)
    }:
        what = "a file of the machine that serves this page cannot be named here"
        raise Refusal(422, what, "text", "choose or drop the file, so that it is sent")


def heads_of(predictor: Predictor) -> int:
    """All heads of all attentions of a model."""
    from regard.attention import Attention, Heads

    modules = list(predictor.model.modules())
    several = [module for module in modules if isinstance(module, Heads)]
    single = sum(isinstance(module, Attention) for module in modules) - len(several)
    return sum(module.num_heads for module in several) + single


def _within(where: str, what: str, value: int, most: int) -> None:
    if value > most:
        raise Refusal(
            422, f"this asks for {value:,} {what}; the limit is {most:,}", where, "ask for less"
        )


# Into which language a text goes when nobody said, and whether there is anything in it to translate.


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


# Symbols that a person chose, by the names the page shows: looked up once a vocabulary, not each time.

WORDS = 32  # names that are no symbol of their own, and must be cut into some


def symbols_of(predictor: Predictor, prefix: Sequence[int | str]) -> list[int | str]:
    """Names of symbols as their ids; what has no such name is left for the library to understand."""
    known = predictor.run.task.named
    if not known:
        return list(prefix)
    ids = [known.get(one, one) if isinstance(one, str) else one for one in prefix]
    others = sum(isinstance(one, str) for one in ids)
    if others > WORDS:
        what = f"{others} names are no symbols of this model; the limit is {WORDS}"
        raise Refusal(422, what, "prefix", "take them from the steps of a trace")
    return ids
