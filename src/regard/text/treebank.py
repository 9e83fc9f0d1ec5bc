"""Words as a tagger's user expects them: cut by the rules of the English Universal Dependencies (EWT).

`don't` is `do n't`, `Smith's` is `Smith 's`, `5:30pm` is `5:30 pm`, `well-known` is `well - known`;
`john@example.com`, `3.14`, `10/2/2001`, `U.S.`, `e-mail` and `:-)` stay whole. Nothing but spaces is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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


def words_of(text: str) -> list[str]:
    """The words of what somebody typed: as they stand where signs are set apart already, else cut.

    Behind tabs (one in front, too) words are always taken as they stand.
    """
    if text.startswith("\t"):
        return text[1:].split("\t")
    chunks = text.split()
    touches = any(map(_TOUCHING.search, chunks)) or bool(chunks and _STOPPED.search(chunks[-1]))
    return chunks if any(map(_APART.fullmatch, chunks)) and not touches else words_in(text)


def words_in(text: str) -> list[str]:
    """The words of running text, each sign a word, in order."""
    chunks = text.split()
    found: list[str] = []
    for chunk, following in zip(chunks, [*chunks[1:], ""], strict=False):
        # `George W. Bush` and `Dr. Smith` keep their full stop; at the end of a sentence it is a word.
        held = bool(following) and bool(_ABBREVIATED.match(chunk) or _INITIAL.match(chunk))
        body = chunk[:-1] if held else chunk
        own = [word for token in _TOKEN.finditer(body) for word in _cut(token[0])]
        found += [*own[:-1], f"{own[-1]}."] if held else own
    return found


def _cut(word: str) -> Iterator[str]:
    """`do` and `n't`, `can` and `not`: words that are written as one."""
    clitic = _CLITIC.search(word)
    place = clitic.start() if clitic else _TWO_WORDS.get(word.lower(), 0)
    if word[:1].isdigit() or not 0 < place < len(word):  # the 80's are one word
        yield word
    else:
        yield from (word[:place], word[place:])
