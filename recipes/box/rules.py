"""What makes a pair worth learning from: one small function a rule, each told by an example in the tests.

`fault(english, foreign, source)` names the first rule that a pair breaks. Two rules need the whole data
and are classes: `Languages` (which language a line is in) and `HeldOut` (which lines a test set holds).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from math import log
from pathlib import Path

from sources import OWN, SOFTWARE

MOST_WORDS = 120
RATIO, SLACK = (
    2.0,
    20,
)  # the longer side has at most RATIO times the letters of the shorter, plus SLACK
MARGIN = 4.0  # nats by which another language must be likelier
EVIDENCE = 4  # words with an opinion before a language is judged

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe0e\ufe0f]")
_SPACE = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_SPEAKER = re.compile(
    r"^(?:[-–—] ?)?\([A-Z]{2}\) ?(?:[-–—] ?)?|^[-–—] (?=[^\W\d_])"
    r"|^[a-zà-ÿ][^.:!?]{0,80}? ?\. ?[–—-] "  # `in writing. – `, `au nom du groupe X . – `
)
_INTRODUCED = re.compile(r"^[^.:!?]{0,80}? ?\. ?[–—-] ")
_MOJIBAKE = re.compile("\ufffd|Ã[\x80-\xbf©¨¤¶¼ª«®´»]|â€|Â[ «»°]")
_UNHEARD = re.compile(r"[\W_]+")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")
_PLACEHOLDER = re.compile(
    r"%\([\w-]+\)[a-zA-Z]|%(?:\d+\$)?[-+#0]*(?:\d+|\*)?(?:\.\d+|\.\*)?(?:hh|h|ll|l|z|j)?[a-zA-Z@]\b"
    r"|%\d+|%%|\$?\{[^{}]*\}|\$\(?\w+\)?|~[a-zA-Z%]\b|@\w+@?"
)
_ADDRESS = re.compile(r"\b(?:https?|ftp)://[^\s\"'<>»”]+|[\w.+-]+@[\w-]+\.[\w.]+")
_TAG = re.compile(r"</?[a-zA-Z][\w-]*(?: [^<>]*)?/?>|&\w+;")
_NAME = re.compile(
    r"\w*_\w*|\w*~\w+|(?<!\w)--[a-z][\w-]+|\w+\(\)"
)  # key marks too: `S_ave`, `~Datei`
_SIGN = re.compile(r"(?<!\S)\*(?!\S)|\"\"|''")
_LOST = re.compile(r"\\(?![\w\\./:*\[\](){}$^+?|-])|!INCLUDE")  # code or a name stood here once
_MARKED = re.compile(r"[%{$~@<&_\\*(]|://|''|\"\"|--|!INC")  # all marks have one of these
_NUMBER = re.compile(r"\d+(?:[.,:'’h]\d+| \d{3}(?!\d))*")
_DIGITS = re.compile(r"\d.?\d")
_SEPARATOR = re.compile(r"[^\d]")


def normalise(text: str, source: str = "") -> str:
    """Composed characters, one plain space between words, nothing invisible; quotes stay as they are."""
    if not text.isprintable():  # of all spaces only the plain one is
        text = _SPACE.sub(" ", _INVISIBLE.sub("", text))
    text = " ".join(unicodedata.normalize("NFC", text).split())
    return _SPEAKER.sub("", text) if source.startswith("europarl") else text


def key(text: str) -> str:
    """What stays of a line when case, accents' form, spaces and punctuation are ignored."""
    return _UNHEARD.sub("", unicodedata.normalize("NFKC", text).casefold()) or text


def fault(english: str, foreign: str, source: str) -> str | None:
    """The first rule that this pair breaks, by name, or nothing."""
    if broken(english) or broken(foreign):
        return "broken"
    if not (fits(english) and fits(foreign)):
        return "length"
    if unbalanced(english, foreign):
        return "ratio"
    if source.startswith("europarl") and one_sided_speaker(english, foreign):
        return "marks"
    if source not in OWN and numbers_differ(english, foreign, strict=source in SOFTWARE):
        return "marks"
    if source in SOFTWARE and marks_differ(english, foreign):
        return "marks"
    return None


def broken(text: str) -> bool:
    """No letters at all, or letters that were read in the wrong encoding."""
    return not _LETTER.search(text) or (not text.isascii() and bool(_MOJIBAKE.search(text)))


def fits(text: str) -> bool:
    """From one word to `MOST_WORDS`, none of them a hundred characters long."""
    words = text.split(" ")
    return len(words) <= MOST_WORDS and max(map(len, words)) <= 100


def unbalanced(english: str, foreign: str) -> bool:
    """One side says far more than the other."""
    shorter, longer = sorted((len(english), len(foreign)))
    return longer > RATIO * shorter + SLACK


def one_sided_speaker(english: str, foreign: str) -> bool:
    """`au nom du groupe X. – Monsieur le Président`, where English starts with `Mr President`."""
    return bool(_INTRODUCED.match(english)) != bool(_INTRODUCED.match(foreign))


def numbers_differ(english: str, foreign: str, strict: bool) -> bool:
    """Figures do not agree: any of two digits or more in software, all of them elsewhere."""
    left, right = _numbers(english), _numbers(foreign)
    if strict:
        return left != right
    return bool(left) and bool(right) and not left & right


def _numbers(text: str) -> set[str]:
    if not _DIGITS.search(text):
        return set()
    found = (_SEPARATOR.sub("", number) for number in _NUMBER.findall(text))
    return {number for number in found if len(number) > 1}


def marks_differ(english: str, foreign: str) -> bool:
    """A placeholder, address, tag, key mark or code name on one side only; a hole where code was."""
    if not (_MARKED.search(english) or _MARKED.search(foreign)):
        return False
    if _LOST.search(english) or _LOST.search(foreign):
        return True
    for pattern in (_PLACEHOLDER, _ADDRESS, _TAG, _NAME, _SIGN):
        if Counter(_marks(pattern, english)) != Counter(_marks(pattern, foreign)):
            return True
    return False


def _marks(pattern: re.Pattern[str], text: str) -> list[str]:
    return [mark.rstrip(".,;:)") or mark for mark in pattern.findall(text)]


class Languages:
    """Which of the languages a line is in: naive Bayes over its words, counted in the data itself."""

    def __init__(self, counts: dict[str, Counter[str]], least: int = 5) -> None:
        self.names = tuple(counts)
        totals = [sum(words.values()) + 1 for words in counts.values()]
        known = {word for words in counts.values() for word, n in words.items() if n >= least}
        self._table = {
            word: tuple(
                log((words[word] + 0.5) / total)
                for words, total in zip(counts.values(), totals, strict=True)
            )
            for word in known
        }

    def __len__(self) -> int:
        return len(self._table)

    @staticmethod
    def words(text: str) -> list[str]:
        return _WORD.findall(text.lower())

    def is_wrong(self, text: str, expected: str) -> bool:
        """Whether another language is clearly likelier; a short line is given the benefit of the doubt."""
        known = [row for row in map(self._table.get, self.words(text)) if row is not None]
        if len(known) < EVIDENCE:
            return False
        sums = [sum(column) for column in zip(*known, strict=True)]
        return max(sums) - sums[self.names.index(expected)] > MARGIN


class HeldOut:
    """The lines that test sets hold, so that training can leave them out."""

    ENGLISH = ("en", "eng")

    def __init__(self, files: Iterable[Path], foreign: tuple[str, ...]) -> None:
        self.english: set[str] = set()
        self.foreign: set[str] = set()
        for path in files:
            suffix = path.suffix.removeprefix(".")
            if suffix in self.ENGLISH:
                self.english.update(map(key, _lines(path)))
            elif suffix in foreign:
                self.foreign.update(map(key, _lines(path)))

    def hold(self, english_key: str, foreign_key: str) -> bool:
        return english_key in self.english or foreign_key in self.foreign


def _lines(path: Path) -> list[str]:
    return [normalise(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
