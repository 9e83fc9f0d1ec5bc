"""Lines -> how often each word occurs, in one pass and bounded memory. All learning starts here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

from tokenizers.normalizers import Lowercase

from regard.errors import DataError
from regard.text.settings import TextSettings
from regard.text.words import is_control, splitter

MOST_WORDS = 2_000_000  # beyond these, only words already met are counted
_FOLD_AT = 100_000
_REPORT_EVERY = 1000

# Cutting at spaces first is cheap, and each different cut is split into words only once.
_CHUNK = re.compile(r" ?[^ ]+| +(?![^ ])")


def count_words(
    lines: Iterable[str], settings: TextSettings, progress: Callable[[int], None] | None = None
) -> Counter[str]:
    """Every word with the space before it, and its count; `progress` hears how many lines were read."""
    words: Counter[str] = Counter()
    chunks: Counter[str] = Counter()
    symbols = re.compile("|".join(map(re.escape, settings.symbols)) or "$^")
    number = 0
    for number, line in enumerate(lines, start=1):
        for part in symbols.split(" " + line) if line else ():
            chunks.update(_CHUNK.findall(part))
        if not line.isascii():
            refuse_surrogates(line, f"line {number}")
        if len(chunks) >= _FOLD_AT:
            _fold(chunks, words, settings.lowercase)
        if progress is not None and number % _REPORT_EVERY == 0:
            progress(number)
    _fold(chunks, words, settings.lowercase)
    if progress is not None:
        progress(number)
    if not words:
        raise DataError(
            "there is no text to learn a vocabulary from",
            where=f"{number} lines",
            remedy="give at least one line that is not empty",
        )
    return words


def count_letters(words: Counter[str], min_count: int) -> list[str]:
    """The characters of all words, the most frequent first.

    Control characters are left out: where there are bytes they travel as bytes, so that no vocabulary
    file has a reason to hold one.
    """
    letters: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            letters[character] += count
    return [
        letter
        for letter, count in most_frequent(letters)
        if count >= min_count and not is_control(letter)
    ]


def most_frequent(counts: Counter[str]) -> list[tuple[str, int]]:
    """By count, ties by the alphabet: the same counts give the same list, in whatever order they came."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def refuse_surrogates(text: str, where: str) -> None:
    """Half a character is not text: no file can hold it and no screen can show it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as fault:
        raise DataError(
            f"character {fault.start + 1} is half a character (U+{ord(text[fault.start]):04X})",
            where=where,
            remedy="read the text as UTF-8 again, without `surrogateescape` or `surrogatepass`",
        ) from None


def _fold(chunks: Counter[str], words: Counter[str], lowercase: bool) -> None:
    split, lower = splitter().pre_tokenize_str, Lowercase().normalize_str
    for chunk, count in chunks.items():
        for word, _ in split(lower(chunk) if lowercase else chunk):
            if word in words or len(words) < MOST_WORDS:
                words[word] += count
    chunks.clear()
