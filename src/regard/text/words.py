"""What a person would call a word, and how a piece of text is written on the axis of a heat map.

One pattern cuts text into words, and a word keeps the space before it: joined again, the words are
the text. It is the only pattern there is; no file can bring another.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

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


# Words as a tagger's user expects them: cut by the rules of the English Universal Dependencies (EWT).
# `don't` is `do n't`, `Smith's` is `Smith 's`, `5:30pm` is `5:30 pm`, `well-known` is `well - known`;
# `john@example.com`, `3.14`, `10/2/2001`, `U.S.`, `e-mail` and `:-)` stay whole. Nothing but spaces is
# lost.

_ABBREVIATIONS = """
    mr mrs ms dr prof st jr sr inc ltd co corp bros vs no vol dept gov gen sen rep lt col capt sgt rev
    jan feb mar apr jun jul aug sept oct nov dec mon tues wed thurs fri ave blvd mt ft tel approx est
"""
# Before a hyphen these make one word with what follows; any other hyphen stands between two words.
_PREFIXES = """
    anti pre post non mid co re ex neo multi semi pro over sub counter socio psycho arch inter intra ultra e
"""
_DOMAINS = "com org net edu gov info uk doc xls pdf txt htm html"
_UNITS = (
    "am pm a.m. p.m. km cm mm kg mg lb lbs oz mph ft min mins hr hrs k gb mb kb mhz ghz kw mw mm bn"
)
_TWO_WORDS = {
    "cannot": 3,
    "gonna": 3,
    "wanna": 3,
    "gotta": 3,
    "lemme": 3,
    "gimme": 3,
    **dict.fromkeys(("im", "ive"), 1),
    **dict.fromkeys(("dont", "isnt", "cant", "wont"), 2),
    **dict.fromkeys(("didnt", "wasnt", "arent", "youre"), 3),
    **dict.fromkeys(("doesnt", "havent", "werent", "thats", "whats", "theyre"), 4),
    **dict.fromkeys(("couldnt", "wouldnt"), 5),
    "shouldnt": 6,
}
_CLITIC = re.compile(r"(?i:(?<=\w)(?:n['’`]t|['’`](?:s|re|ve|ll|d|m)))\Z")


def _one_of(words: str) -> str:
    return "|".join(sorted(map(re.escape, words.split()), key=len, reverse=True))


_END = r"[^\s.,;:!?'\"’”)\]}>]"  # what an address may end with
_TOKEN = re.compile(
    rf"""
    (?:https?|ftp)://\S{{0,400}}{_END} | www\.\S{{0,400}}{_END}      # addresses
    | [\w.+-]{{1,64}}@[\w-]{{1,64}}(?:\.[\w-]{{1,64}})+
    | (?:[a-z][\w-]{{0,64}}\.){{1,4}}(?:{_one_of(_DOMAINS)})\b(?:/\S{{0,400}}{_END})?
    | [:;=8]-?[)(\]\[dp/|](?=[.,!?]*\Z) | <3\b                      # smiles
    | (?:\d{{1,3}}[-.])?(?:\d{{3}}[-./])?\d{{3}}[-.]\d{{4}}\b       # telephone numbers
    | \d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?\b | \d{{1,2}}-\d{{1,2}}-\d{{2,4}}\b  # dates
    | \d{{1,2}}(?::\d\d){{1,2}}                                     # times
    | ['’]?\d+['’]?s\b | \d+(?:st|nd|rd|th)\b                       # 1980s, '90s, 3rd
    | [+]?\d+(?:[.,]\d+)*(?=(?:{_one_of(_UNITS)})(?!\w)|\W|\Z) | \.\d+   # numbers
    | (?:{_one_of(_UNITS)})(?!\w)(?<=\.)                            # p.m.
    | (?:[^\W\d_]\.){{2,}} | etc\. | [A-Z]&[A-Z]\b                 # U.S., R&D
    | (?:{_one_of(_ABBREVIATIONS)})\.(?!\Z)
    | (?:{_one_of(_PREFIXES)})-[^\W_]+                              # e-mail, anti-war
    | ['’]em\b | \A['’`](?:s|re|ve|ll|d|m)\Z
    | [^\W_]+(?:['’`_&][^\W_]+)*                                    # words
    | [^\w\s](?:\ufe0f|[\U0001f3fb-\U0001f3ff]|\u200d[^\w\s])+      # a sign that is joined of several
    | \.{{2,}} | -{{2,}} | [!?]{{2,}} | ([^\w\s])\1+ | _+               # marks that are repeated are one
    | .
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
# Signs that stand apart only where somebody set words apart: a dash has spaces around it in any text.
_APART = re.compile(r"[.,;:!?…()\[\]\"'“”‘’«»`]+|n['’]t|['’](?:s|re|ve|ll|d|m)", re.IGNORECASE)
_TOUCHING = re.compile(
    r"\w{2,}[,;:!?)\]\"”»]+\Z|[(\[\"“«]+\w|[^\W\d](?:n['’]t|['’](?:s|re|ve|ll|d|m))\Z",
    re.IGNORECASE,
)
_STOPPED = re.compile(r"\w{2,}\.\Z")
_INITIAL = re.compile(r"\W*[A-Z]\.\Z")
_ABBREVIATED = re.compile(rf"(?i:\W*(?:{_one_of(_ABBREVIATIONS)})\.\Z)")


def _composed(text: str) -> str:
    """Each letter with its accent as one character, wherever there is one: so is most text written."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def words_of(text: str) -> list[str]:
    """The words of what somebody typed: as they stand where signs are set apart already, else cut.

    Behind tabs (one in front, too) words are always taken as they stand.
    """
    if text.startswith("\t"):
        return text[1:].split("\t")
    text = _composed(text)
    chunks = text.split()
    touches = any(map(_TOUCHING.search, chunks)) or bool(chunks and _STOPPED.search(chunks[-1]))
    return chunks if any(map(_APART.fullmatch, chunks)) and not touches else words_in(text)


def words_in(text: str) -> list[str]:
    """The words of running text, each sign a word, in order."""
    chunks = text.split()
    words: list[str] = []
    for chunk, following in zip(chunks, [*chunks[1:], ""], strict=False):
        # `George W. Bush` and `Dr. Smith` keep their full stop; at the end of a sentence it is a word.
        held = bool(following) and bool(_ABBREVIATED.match(chunk) or _INITIAL.match(chunk))
        body = chunk[:-1] if held else chunk
        tokens = (
            body[slice(*token.span())] for token in _TOKEN.finditer(_accents_as_letters(body))
        )
        own = [word for token in tokens for word in _cut(token)]
        words += [*own[:-1], f"{own[-1]}."] if held else own
    return words


def _accents_as_letters(chunk: str) -> str:
    """Accents and vowel signs that are characters of their own belong to the letter before them."""
    if chunk.isascii():
        return chunk
    seen = ""
    for one in chunk:
        is_part = seen[-1:].isalpha() and unicodedata.category(one).startswith("M")
        seen += seen[-1] if is_part else one
    return seen


def _cut(word: str) -> Iterator[str]:
    """`do` and `n't`, `can` and `not`: words that are written as one."""
    clitic = _CLITIC.search(word)
    place = clitic.start() if clitic else _TWO_WORDS.get(word.lower(), 0)
    if word[:1].isdigit() or not 0 < place < len(word):  # the 80's are one word
        yield word
    else:
        yield from (word[:place], word[place:])
