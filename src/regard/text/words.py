"""What a person would call a word, and how a piece of text is written on the axis of a heat map.

One pattern cuts text into words, and a word keeps the space before it: joined again, the words are
the text. It is the only pattern there is; no file can bring another.
"""

from __future__ import annotations

import re
import unicodedata

from tokenizers import Regex
from tokenizers.pre_tokenizers import PreTokenizer, Split

# Letters, accents, digits, and the invisible joiners that Persian words and emoji are held by.
_INSIDE = r"[\p{L}\p{M}\p{N}\p{Cf}]"
# don't, l’eau, צה״ל are one word, and so are 3.14 and 10:30.
_BETWEEN = r"(?:['’׳״]|(?<=\p{N})[.,:](?=\p{N}))"
_WORD = rf" ?{_INSIDE}+(?:{_BETWEEN}{_INSIDE}+)*"
_SPACES = r" +(?![^ ])"  # all but the last of many: that one belongs to the next word
# "...", a flag (`\X` takes quadratic time over many), or one sign as a person sees it, such as 👩‍🚀.
_SYMBOL = r" ?(?=[^ ])(?:([\p{P}\p{Sm}])\1+|[\x{1F1E6}-\x{1F1FF}]{1,2}|\X)"

# Chinese, Japanese, Thai, Lao, Burmese and Khmer are written without spaces.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff]"
)
_BIDI_CONTROLS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def splitter() -> PreTokenizer:
    """The cut into words, as the tokenizer library runs it."""
    return Split(Regex(f"{_WORD}|{_SPACES}|{_SYMBOL}"), "isolated")


def word_starts(text: str) -> list[int]:
    """For each character, where its word starts."""
    starts: list[int] = []
    for _, (start, stop) in splitter().pre_tokenize_str(text):
        starts += [start] * (stop - start)
    return starts


def starts_word(character: str) -> bool:
    """Whether a piece that begins so is a word by itself, in a script that writes no spaces."""
    accent = unicodedata.category(character).startswith("M")
    return bool(_UNSPACED.match(character)) and not accent


def word_label(text: str) -> str:
    """A word without the space before it; spaces alone stay, and are seen."""
    return visible(text.removeprefix(" ") if text.strip(" ") else text)


def piece_label(raw: bytes) -> str:
    """`▁the` for text, `<0xC3>` for a byte that is only part of a character."""
    try:
        return visible(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in raw)


def visible(text: str) -> str:
    """Text in which no character hides: `▁` for a space, `␉` for a tab, `<U+202E>` for a trick."""
    alone = not any(character.isprintable() for character in text)
    return "".join(_show(character, alone) for character in text)


def is_control(character: str) -> bool:
    """Whether a character steers rather than shows: control codes, line and paragraph separators."""
    code = ord(character)
    return code < 0x20 or 0x7F <= code < 0xA0 or code in (0x2028, 0x2029)


def _show(character: str, alone: bool) -> str:
    code = ord(character)
    if character == " ":
        return "▁"
    if code < 0x20 or code == 0x7F:
        return chr(0x2400 + code) if code < 0x20 else "␡"
    # A joiner inside a word or an emoji does its work unseen; by itself it would be an empty label.
    joins = (
        unicodedata.category(character) == "Cf" and character not in _BIDI_CONTROLS and not alone
    )
    return character if character.isprintable() or joins else f"<U+{code:04X}>"
