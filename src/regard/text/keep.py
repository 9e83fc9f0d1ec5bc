"""What a model must not touch: addresses, placeholders, and characters that its vocabulary cannot spell.

The one idea: such a stretch is hidden behind a symbol (`<keep0>`) that the model learned to carry over, and
put back where the model wrote the symbol. Whatever the model does, each stretch comes back once.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import final

Span = tuple[int, int]

_KEEP = re.compile(r"<keep\d+>")
_TAG = re.compile(r">>([A-Za-z][\w-]*)<<")
_PLACEHOLDER = re.compile(
    r"(?:https?|ftp|file)://[^\s<>\"']*[^\s<>\"'.,;:!?)\]}]"
    r"|www\.[^\s<>\"']*[^\s<>\"'.,;:!?)\]}]"
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+"
    r"|(?<!\d)%(?:\(\w+\)|\d+\$)?[-+#0]?\d*(?:\.\d+)?(?:hh?|ll?|[zjtL])?[sdiuoxXfFeEgGcp@](?![A-Za-z])"
    r"|\$?\{[\w.:!$-]*\}|\$[A-Z_][A-Z0-9_]+"
    r"|</?[A-Za-z][^<>\n]{0,80}>|&(?:\w{2,8}|#\w{1,7});"
    r"|`[^`\n]{1,80}`"
)
_SPACES = re.compile(r"\s+")
_NEAR = 3  # characters between two foreign stretches that make one


@final
@dataclass(frozen=True)
class Kept:
    """One stretch, and what is beside it in the source: a space, nothing at an end, or what touches it."""

    text: str
    before: str
    after: str


@final
@dataclass(frozen=True)
class Hidden:
    """A sentence as the model reads it, and what is behind its symbols."""

    text: str
    kept: tuple[Kept, ...]
    symbols: tuple[str, ...]

    @property
    def says_something(self) -> bool:
        """Whether there is a letter left to translate."""
        return any(character.isalpha() for character in _pattern(self.symbols).sub("", self.text))

    def named(self, label: str) -> str:
        """A label of the model's input or answer with the person's own words in it."""
        for symbol, kept in zip(self.symbols, self.kept, strict=False):
            label = label.replace(symbol, kept.text)
        return label

    def restored(self, answer: str) -> str:
        """The answer with each stretch in it once: where its symbol stands first, else at the end."""
        answer = self._cleared(answer)
        pattern = _pattern(self.symbols)
        parts, symbols = pattern.split(answer), pattern.findall(answer)
        written = parts[0]
        missing = dict(zip(self.symbols, self.kept, strict=False))
        for symbol, following in zip(symbols, parts[1:], strict=True):
            kept = missing.pop(symbol, None)
            if kept is not None:
                left, right = written.rstrip(" "), following.lstrip(" ")
                before = _space(kept.before, left[-1:], written[len(left) : len(left) + 1])
                after = _space(kept.after, right[:1], following[: len(following) - len(right)][:1])
                written = left + before + kept.text + after + right
            elif written.endswith(" ") or not written:
                written += following.removeprefix(" ")
            else:
                written += following
        written = _with(written.strip(), missing.values())
        if self._is_whole(written):
            return written
        # What the model wrote beside a stretch made another of it: then all of them go to the end.
        return _with(self._cleared(pattern.sub(" ", answer)).strip(), self.kept)

    def _is_whole(self, written: str) -> bool:
        """Whether each stretch is there as often as it was."""
        return all(
            written.count(kept.text) == sum(other.text.count(kept.text) for other in self.kept)
            for kept in self.kept
        )

    def _cleared(self, answer: str) -> str:
        """Without what the model wrote out by itself: else it would be there twice."""
        for kept in self.kept:
            while kept.text in answer:
                answer = answer.replace(kept.text, "")
        return answer


def keeps(symbols: Sequence[str]) -> tuple[str, ...]:
    """The symbols that stretches can be hidden behind."""
    return tuple(symbol for symbol in symbols if _KEEP.fullmatch(symbol))


def languages(symbols: Sequence[str]) -> tuple[str, ...]:
    """The languages that a vocabulary has tags for: `>>fr<<` asks for French."""
    return tuple(match[1] for match in map(_TAG.fullmatch, symbols) if match)


def tag(language: str) -> str:
    """What stands before a text that is to be translated into this language."""
    return f">>{language}<<"


def foreign(text: str, letters: frozenset[str], symbols: tuple[str, ...] = ()) -> list[Span]:
    """The stretches to hide: placeholders, typed symbols, and what these letters cannot spell."""
    spans = [match.span() for match in _PLACEHOLDER.finditer(text)]
    spans = _united(spans, [match.span() for match in _pattern(symbols).finditer(text)])
    if not letters.issuperset(text):
        spans = _united(spans, _merged(text, _unspelled(text, letters)))
    return spans


def hide(text: str, spans: Sequence[Span], symbols: tuple[str, ...]) -> Hidden:
    """The text with symbols in the place of stretches, a space beside each where words would touch it."""
    hidden, kept, before = "", [], 0
    for (start, stop), symbol in zip(spans, keeps(symbols), strict=False):
        hidden += _plain(text[before:start])
        hidden += f" {symbol}" if hidden[-1:].isalnum() or hidden.endswith(">") else symbol
        hidden += " " if text[stop : stop + 1].isalnum() else ""
        kept.append(Kept(text[start:stop], text[max(0, start - 1) : start], text[stop : stop + 1]))
        before = stop
    hidden = _SPACES.sub(" ", hidden + _plain(text[before:])).strip()
    others = tuple(symbol for symbol in symbols if not _KEEP.fullmatch(symbol))
    return Hidden(hidden, tuple(kept), (*keeps(symbols), *others))


def _plain(text: str) -> str:
    """Accents as part of their letters, and nothing that cannot be seen."""
    composed = unicodedata.normalize("NFC", text)
    return "".join(one for one in composed if one.isascii() or unicodedata.category(one) != "Cf")


def _unspelled(text: str, letters: frozenset[str]) -> Iterator[Span]:
    """Clusters (a letter with its accents, an emoji with its joiners) that the letters cannot spell.

    A word with one such letter is foreign as a whole.
    """
    for in_word, group in groupby(_clusters(text), lambda span: text[span[0]].isalnum()):
        spans = list(group)
        lacking = [span for span in spans if not _spelled(text[slice(*span)], letters)]
        if in_word and any(text[start].isalpha() for start, _ in lacking):
            yield spans[0][0], spans[-1][1]
        else:
            yield from lacking


def _spelled(cluster: str, letters: frozenset[str]) -> bool:
    return cluster.isspace() or letters.issuperset(_plain(cluster))


def _clusters(text: str) -> Iterator[Span]:
    start = 0
    for place in range(1, len(text) + 1):
        if place < len(text) and (_clings(text[place]) or text[place - 1] == "\u200d"):
            continue
        yield start, place
        start = place


def _clings(character: str) -> bool:
    """Accents, joiners and other invisible signs, colours of emoji: they belong to what is before them."""
    if character.isascii():
        return False
    kind = unicodedata.category(character)
    return kind[0] == "M" or kind == "Cf" or 0x1F3FB <= ord(character) <= 0x1F3FF


def _merged(text: str, spans: Iterator[Span]) -> list[Span]:
    """Foreign words with nothing but a little punctuation between them are one foreign phrase."""
    merged: list[Span] = []
    for start, stop in spans:
        between = text[merged[-1][1] : start] if merged else "0" * (_NEAR + 1)
        if len(between) <= _NEAR and not any(character.isalnum() for character in between):
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _united(first: Sequence[Span], second: Sequence[Span]) -> list[Span]:
    """All stretches in order; those that overlap are one."""
    united: list[Span] = []
    for start, stop in sorted((*first, *second)):
        if united and start < united[-1][1]:
            united[-1] = (united[-1][0], max(stop, united[-1][1]))
        else:
            united.append((start, stop))
    return united


@cache
def _pattern(symbols: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(symbol) for symbol in symbols) or r"(?!)")


def _space(source: str, neighbour: str, between: str) -> str:
    """What goes between a stretch and its neighbour in the answer, given who stood there in the source."""
    if not source or not neighbour:
        return between
    if source.isspace():
        return " " if between or neighbour.isalnum() else ""
    alike = neighbour == source or (neighbour.isalnum() and source.isalnum())
    return "" if alike else between


def _with(written: str, missing: Iterable[Kept]) -> str:
    """What the model dropped: in front if it stood first, else at the end, in the order of the source."""
    for kept in missing:
        if not written:
            written = kept.text
        elif not kept.before:
            written = f"{kept.text} {written}"
        else:
            touches = not kept.after and not kept.before.isspace() and kept.before == written[-1:]
            written += kept.text if touches else f" {kept.text}"
    return written
