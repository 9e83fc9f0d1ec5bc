"""Running text for a model that reads sentences: cut, hidden, asked, and woven together again.

The one idea: only sentences are translated. What lies between them, and what the model must not touch inside
them, is copied; so any text can be answered, of any length, and nothing of it is lost.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import final

from regard.errors import UsageError
from regard.tasks import Prediction
from regard.text import Codec
from regard.text.keep import Hidden, foreign, hide, keeps, languages, tag
from regard.text.languages import NAMES, doubt, target_of
from regard.text.sentences import Span, fitted, sentences, weave

Ask = Callable[[list[str], list[int]], list[Prediction]]  # texts and their numbers -> answers

STRIDE = 1 << 32  # between the numbers of two sentences of one text
_WIDEST = 12  # characters a symbol, at the most, in a sentence worth counting


@final
@dataclass(frozen=True)
class Part:
    """A stretch of a text, what is hidden in it, and what the model reads; nothing, where nothing is said."""

    span: Span
    hidden: Hidden
    read: str


@final
@dataclass(frozen=True, eq=False)
class Passages:
    """A translator that reads running text, sentence by sentence, of at most so many symbols each."""

    codec: Codec  # of the model's questions
    most: int

    @property
    def languages(self) -> tuple[str, ...]:
        """What it can be asked to translate into."""
        return languages(self.codec.settings.symbols)

    def parts(self, text: str, to: str | None, *, whole: bool = False) -> list[Part]:
        """The sentences of a text; or all of it as one, for anyone who wants to look at one picture."""
        if whole:
            return [self._part(text, (0, len(text)), to)]
        kept = self._foreign(text)
        return [
            self._part(text, part, to)
            for span in _undivided(sentences(text), kept)
            for part in fitted(text, span, self._fits, kept)
        ]

    def whole(self, text: str, to: str | None) -> Part | None:
        """All of a text as one part, in the language asked for; none, where the model knows but one pair."""
        goal = self.target(text, to)
        if not self.languages:
            return None
        (part,) = self.parts(self.bare(text), goal, whole=True)
        if not part.read:
            known = ", ".join(NAMES.get(name, name) for name in self.languages)
            raise UsageError(
                "there is nothing here to translate",
                where=f"text {text[:60]!r}",
                remedy=f"write {known}; numbers, addresses and other scripts stay as they are",
            )
        return part

    def count(self, text: str) -> int:
        """How many sentences of a text the model is asked."""
        return sum(1 for part in self.parts(text, None) if part.read)

    def answer(
        self, texts: Sequence[str], numbers: Sequence[int], to: str | None, ask: Ask
    ) -> list[Prediction]:
        """One answer for each text; `ask` gets all sentences at once, each with a number of its own."""
        goals = [self.target(text, to) for text in texts]
        texts = [self.bare(text) for text in texts]
        cut = [self.parts(text, goal) for text, goal in zip(texts, goals, strict=True)]
        pieces = [
            (part.read, number + STRIDE * place)
            for number, parts in zip(numbers, cut, strict=True)
            for place, part in enumerate(parts)
            if part.read
        ]
        answers = iter(ask([read for read, _ in pieces], [number for _, number in pieces]))
        whole = []
        for text, parts in zip(texts, cut, strict=True):
            own = iter(list(islice(answers, sum(1 for part in parts if part.read))))
            whole.append(woven(text, parts, [next(own) if part.read else None for part in parts]))
        return whole

    def target(self, text: str, to: str | None) -> str | None:
        """The language to translate a text into: the one asked for or typed, or English from another."""
        known = self.languages
        typed = next((name for name in known if text.startswith(tag(name))), None)
        return typed if to is None and typed is not None else target_of(text, to, known)

    def bare(self, text: str) -> str:
        """A text without the tag that somebody typed before it."""
        for name in self.languages:
            if text.startswith(tag(name)):
                return text.removeprefix(tag(name)).removeprefix(" ")
        return text

    def _part(self, text: str, span: Span, to: str | None) -> Part:
        own, symbols = text[slice(*span)], self.codec.settings.symbols
        hidden = hide(own, self._foreign(own), symbols)
        read = hidden.text if to is None else f"{tag(to)} {hidden.text}"
        return Part(span, hidden, read if hidden.says_something else "")

    def _foreign(self, text: str) -> list[Span]:
        symbols = self.codec.settings.symbols
        if not keeps(symbols):
            return []
        return foreign(text, self.codec.letters, symbols)

    def _fits(self, text: str) -> bool:
        if len(text) > _WIDEST * self.most:
            return False
        kept, symbols = self._foreign(text), self.codec.settings.symbols
        if len(kept) > len(keeps(symbols)):
            return False
        return len(self.codec.encode(hide(text, kept, symbols).text)) + 2 <= self.most


def _undivided(spans: Sequence[Span], kept: Sequence[Span]) -> list[Span]:
    """Sentences of which none ends within what must stay whole."""
    joined: list[Span] = []
    for start, stop in spans:
        place = bisect_left(kept, (start,)) - 1
        if joined and place >= 0 and kept[place][1] > start:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return joined


def woven(text: str, parts: Sequence[Part], answers: Sequence[Prediction | None]) -> Prediction:
    """The answers to the sentences of a text as one; a sentence that was not asked stands as it is."""
    given = [answer for answer in answers if answer is not None]
    ranked = [a.alternatives or ((a.text, a.score),) for a in given]

    def choice(rank: int) -> tuple[str, float]:
        """The best, second best, .. of each sentence; of one that has no more, its last."""
        chosen = [own[min(rank, len(own) - 1)] for own in ranked]
        texts = iter(text for text, _ in chosen)
        written = [
            text[slice(*part.span)] if answer is None else part.hidden.restored(next(texts))
            for part, answer in zip(parts, answers, strict=True)
        ]
        spans = [part.span for part in parts]
        return weave(text, spans, written), math.fsum(score for _, score in chosen)

    best, score = choice(0)
    return Prediction(
        best,
        score,
        tuple(symbol for answer in given for symbol in answer.symbols),
        tuple(number for answer in given for number in answer.ids),
        tuple(value for answer in given for value in answer.log_probabilities),
        next((answer.finish for answer in given if answer.finish != "end"), "end"),
        tuple(choice(rank) for rank in range(max(map(len, ranked), default=0))),
        tuple(given),
    )


# Why an answer may be wrong: of a translation, that its text is in a strange language, that it came back as
# it was, or that a number of it is lost.

_WORDS = 3  # of a text that comes back as it was; fewer may well be a name
_WORD = re.compile(r"[^\W\d_]+")
# Numbers of four digits and more: shorter ones are often said in words or, as hours are, counted otherwise.
_LONG_NUMBER = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?:[.,'’\u00a0\u202f]\d{3})+|\d{4,})(?:[.,]\d+)?(?!\d)"
)
_SEPARATOR = re.compile(r"(?<=\d)[.,'’\s](?=\d)")
_NO_CENTS = re.compile(r"[.,]00?$")


def lost_number(text: str, answer: str) -> str | None:
    """The first long number of a text whose digits do not stand in the answer, however it separates them."""
    given = _SEPARATOR.sub("", answer)
    for number in _LONG_NUMBER.findall(text):
        forms = (number, _NO_CENTS.sub("", number))
        if not any(_SEPARATOR.sub("", form) in given for form in forms):
            return number
    return None


def doubtful(
    text: str, answer: str, to: str | None, reads: Sequence[str], *, is_spoken_named: bool = False
) -> str | None:
    """Why a translation may be wrong. A text whose language somebody named is not asked about it."""
    why = None if is_spoken_named else doubt(text, to, reads)
    if why is not None:
        return why
    if not is_spoken_named and answer == text and len(_WORD.findall(text)) >= _WORDS:
        return "this came back as it was"
    lost = lost_number(text, answer)
    return None if lost is None else f"the number {lost} is not in the answer"


@final
@dataclass
class Doubts:
    """Collects why answers may be wrong, each reason once; `noun` is what one text is called."""

    why: Callable[[str, str], str | None]
    noun: str = "text"
    _found: dict[str, list[int]] = field(default_factory=dict)

    def add(self, number: int, text: str, answer: str) -> None:
        """Look at a text, counted from 1, and its answer."""
        why = self.why(text, answer)
        if why is not None:
            self._found.setdefault(why, []).append(number)

    def told(self) -> list[str]:
        """One sentence for each reason, with the place of the first: `line 3 and 2 more: this ..`."""
        return [f"{self.noun} {_places(numbers)}: {why}" for why, numbers in self._found.items()]


def _places(numbers: Sequence[int]) -> str:
    first, more = f"{numbers[0]:,}", len(numbers) - 1
    return f"{first} and {more:,} more" if more else first
