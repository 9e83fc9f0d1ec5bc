"""Where sentences begin and end, in English, German and French, and in scripts with full stops of their own.

The one idea: a sentence is a stretch of the text, and what lies between two of them is kept as it stands;
so answers put in the sentences' places have every space, line break and list marker where it was. In doubt
nothing is cut: two sentences read as one are translated well, half a sentence is not.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

Span = tuple[int, int]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Lines and columns are never read across.
_HARD = re.compile(r"[\n\r\t\v\f\x1c-\x1e\x85\u2028\u2029]\s*+")
# 1. 2) a) - * • # > at the beginning of a line are not part of what it says.
_MARKER = re.compile(r"(?:(?:\d{1,3}[.)]|[a-z]\)|[-*+•·–—>]|#{1,6})[^\S\n]++)++(?=\S)")
# Each mark is tried where its run begins and taken whole, so that time grows with the text and no faster.
_CLOSING = r"[\"'”’“»›)\]}*_]"
_STOP = re.compile(
    r"(?P<mark>(?<!\.)\.++|(?<![!?])[!?]++(?:\.\.\.)?|(?<!…)…++|(?<![؟।])[؟।]++)"
    rf"(?:[ \u00a0\u202f](?=[»›]))?{_CLOSING}*+(?P<gap>\s++)"
    r"|(?<![。！？｡])[。！？｡]++[」』）”’]*+(?P<none>\s*+)"
)
_OPENING = re.compile(r"[\"'“„‘«‹(\[{¿¡*_–—-]*+\s?")
_BEFORE = re.compile(r"[^\s\"'“”„‘’«»‹›()\[\]{}]+\Z")
_REACH = 300  # characters around the middle that are looked at
_LONGEST_WORD = 24  # characters before a stop that are looked at

# Behind these a sentence goes on, whatever follows;
_GOES_ON = _words(
    """
    mr mrs ms mx dr prof st rev gen col maj capt cpt lt sgt sen gov mme mlle mgr hr hrn fr frl dipl
    vs cf e.g eg i.e ie viz approx ca circa incl excl resp bzw vgl evtl ggf inkl exkl zzgl abzgl sog bspw
    einschl u.a u.ä z.b zb d.h dh i.d.r z.t o.ä s.o s.u v.a geb gest p.ex env réf tél lfd
    """
)
# behind these, before a number, also where they end a longer word (Hauptstr. 5, Tel.-Nr. 12);
_BEFORE_NUMBER = _words(
    """
    fig figs eq eqs sec secs chap ch vol vols pp p no nos nr art ref refs ed tab tel abb abs aufl bd kap
    max min str jan feb febr mar mär apr jun jul aug sept sep oct okt nov dec dez janv févr avr juil déc
    """
)
_ENDS_A_WORD = ("str", "nr")
# A number behind one of them counts something; behind anything else it may be an ordinal (am 3. Oktober).
_COUNTED = re.compile(r"([^\s\"'“”„‘’«»‹›()\[\]{}]+)\.\s?\d{1,2}\Z")
# behind these it goes on unless a word follows that sentences like to begin with.
_MAY_END = _words(
    "etc usw usf jr sr inc ltd co corp bros al a.m p.m u.s u.k u.n e.u u.s.a ph.d m.d gmbh mio mrd"
)
_BEGINNERS = _words(
    """
    the a an this that these those it he she they we i you there here in on at as but and so if when while
    after before then however what who why how where his her its our my your their for to from with not no yes
    der die das ein eine er sie es wir ihr ich du dies diese dieser dieses hier da dann danach dort aber und
    oder wenn als weil doch nach vor im am in zu mit für von auch nicht man was wer wie wo warum
    le la les l un une des il elle on nous vous ils elles je tu ce cette ces cet ici mais et ou donc or si
    quand comme dans sur pour avec sans après avant puis alors que qui où pourquoi comment
    """
)
# French begins sentences with words that lose a vowel: c'est, j'ai, qu'il.
_ELIDED = re.compile(r"(?:[cdjlmnst]|(?:lors|puis|quoi|jus)?qu)['’]", re.IGNORECASE)
# Better places to cut a sentence that is too long, best first.
_CLAUSES = (
    re.compile(r"(?<=[;:–—,，、؛،])\s+|(?<=[，、；：])"),
    re.compile(r"\s+(?=[(\[–—]|(?:and|or|but|und|oder|aber|et|ou|mais|que|that|which|dass)\s)"),
    re.compile(r"\s+"),
)


def sentences(text: str) -> list[Span]:
    """Where each sentence of a text begins and ends; between them lie spaces, breaks and list markers."""
    spans: list[Span] = []
    for start, stop in _lines(text):
        marker = _MARKER.match(text, start, stop)
        begin = start if marker is None else marker.end()
        for match in _STOP.finditer(text, begin, stop):
            if match["gap"] is None or _ends(text, begin, match):
                end = match.start("gap") if match["gap"] is not None else match.start("none")
                spans.append((begin, end))
                begin = match.end()
        if begin < stop:
            spans.append((begin, stop))
    return spans


def weave(text: str, spans: Sequence[Span], answers: Sequence[str]) -> str:
    """The text with an answer in the place of each span."""
    parts, before = [], 0
    for (start, stop), answer in zip(spans, answers, strict=True):
        parts += [text[before:start], answer]
        before = stop
    return "".join([*parts, text[before:]])


def fitted(
    text: str, span: Span, fits: Callable[[str], bool], whole: Sequence[Span] = ()
) -> list[Span]:
    """A stretch in parts that all fit: cut near the middle, at a clause, else a word, else anywhere.

    The stretch has no space at its ends, and neither has a part. No cut goes through what must stay `whole`
    (in order): that, or a character, which does not fit is a part all the same.
    """
    done: list[Span] = []
    waiting = [span]
    while waiting:
        start, stop = waiting.pop()
        if stop - start < 2 or fits(text[start:stop]):
            done.append((start, stop))
            continue
        cut = _around(_middle(text, start, stop), (start, stop), whole)
        if cut is None:
            done.append((start, stop))
            continue
        end, begin = cut
        (first,) = _stripped(text, start, end)
        (second,) = _stripped(text, begin, stop)
        waiting += [second, first]
    return done


def _lines(text: str) -> Iterator[Span]:
    """The stretches that hard breaks leave, without the spaces around them."""
    start = 0
    for match in _HARD.finditer(text):
        yield from _stripped(text, start, match.start())
        start = match.end()
    yield from _stripped(text, start, len(text))


def _stripped(text: str, start: int, stop: int) -> Iterator[Span]:
    while start < stop and text[start].isspace():
        start += 1
    while start < stop and text[stop - 1].isspace():
        stop -= 1
    if start < stop:
        yield start, stop


def _ends(text: str, begin: int, match: re.Match[str]) -> bool:
    """Whether a stop with space behind it ends the sentence that began at `begin`."""
    after = _OPENING.match(text, match.end())
    place = after.end() if after else match.end()
    following = text[place : place + _LONGEST_WORD]
    if following[:1].islower():
        return False
    if match["mark"] != ".":
        return True
    near = max(begin, match.start() - _LONGEST_WORD)
    before = _BEFORE.search(text, near, match.start())
    if before is None:
        return True
    counted = _COUNTED.search(text, near, match.start())
    is_counted = counted is not None and _comes_before_number(counted[1])
    return _may_end(before[0], following, is_counted)


def _may_end(word: str, following: str, is_counted: bool) -> bool:
    """Whether a sentence can end with this word and one full stop, before what follows."""
    lowered = word.lower()
    if lowered in _GOES_ON or (following[:1].isdigit() and _comes_before_number(word)):
        return False
    initial = len(word) == 1 and word.isalpha() and word != "I"
    letters = "." in word and all(len(part) <= 1 for part in word.split("."))  # U.S, z.B
    ordinal = word.isdigit() and len(word) <= 2 and not is_counted  # Am 3. Oktober
    if initial or letters or ordinal or lowered in _MAY_END:
        return _begins(following)
    return True


def _comes_before_number(word: str) -> bool:
    """`p`, `Nr`, `Hauptstr`, `Tel.-Nr`: an abbreviation that a number belongs to."""
    last = word.lower().rpartition("-")[2]
    return last in _BEFORE_NUMBER or last.endswith(_ENDS_A_WORD)


def _begins(following: str) -> bool:
    """Whether a sentence likes to begin with these words."""
    word = re.match(r"\w+", following)
    return word is not None and (word[0].lower() in _BEGINNERS or bool(_ELIDED.match(following)))


def _middle(text: str, start: int, stop: int) -> tuple[int, int]:
    """Where the first part ends and the second begins, near the middle and at the best kind of place."""
    centre, reach = (start + stop) // 2, min(max(1, (stop - start) // 3), _REACH)
    low, high = max(start + 1, centre - reach), min(stop - 1, centre + reach)
    for pattern in _CLAUSES:
        places = [match.span() for match in pattern.finditer(text, low, high)]
        inside = [(end, begin) for end, begin in places if start < end and begin < stop]
        if inside:
            near = bisect_left(inside, (centre, centre))
            choices = inside[max(0, near - 1) : near + 1]
            return min(choices, key=lambda place: abs(place[0] - centre))
    for place in range(centre, stop):  # never between a letter and its accent
        if not _joins(text[place]) and not _joins(text[place - 1], alone=False):
            return place, place
    return centre, centre


def _around(cut: Span, within: Span, whole: Sequence[Span]) -> Span | None:
    """The cut, or the nearer edge of what it would go through; None where that is all there is."""
    place = bisect_left(whole, (cut[1],)) - 1
    if place < 0 or whole[place][1] <= cut[0]:
        return cut
    inside = [edge for edge in whole[place] if within[0] < edge < within[1]]
    if not inside:
        return None
    best = min(inside, key=lambda edge: abs(edge - cut[0]))
    return best, best


def _joins(character: str, *, alone: bool = True) -> bool:
    """Whether a character holds on to the one before it; a joiner (`alone=False`) to the one after, too."""
    joiner = character == "\u200d"
    return joiner or (alone and unicodedata.category(character)[0] == "M")
