"""Numbers in words: digits are read by their place, and every language has its own order for it.

English is British: `and` before the tens, and a hyphen inside them.

German writes one long word, units before tens, in the full forms with their `ein`: `einhunderteins`
and `eintausend`, where speech also has `hunderteins` and `tausend`. One is `eins` at the end of a
number and `ein` inside it.

French has the traditional spelling (before the changes of 1990). Below a hundred a hyphen joins
what `et` does not: `vingt-deux`, but `vingt et un` and `soixante et onze`; above, spaces do. France
counts 70 as 60 + 10, 80 as 4 x 20, 90 as 4 x 20 + 10. `vingt` and `cent` take an s when multiplied
and last (`quatre-vingts`, `deux cents`), and not before another number (`quatre-vingt-un`, `deux
cent un`, `deux cent mille`); `mille` never does.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from regard.data.example import Pair
from regard.data.toys.toy import Toy
from regard.errors import UsageError

_ENGLISH = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"),
    *("seventeen", "eighteen", "nineteen"),
)
_ENGLISH_TENS = (
    *("", "", "twenty", "thirty", "forty"),
    *("fifty", "sixty", "seventy", "eighty", "ninety"),
)
_GERMAN = (
    *("null", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"),
    *("zehn", "elf", "zwölf", "dreizehn", "vierzehn", "fünfzehn", "sechzehn"),
    *("siebzehn", "achtzehn", "neunzehn"),
)
_GERMAN_TENS = (
    *("", "", "zwanzig", "dreißig", "vierzig"),
    *("fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"),
)
_FRENCH = (
    *("zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"),
    *("dix", "onze", "douze", "treize", "quatorze", "quinze", "seize"),
    *("dix-sept", "dix-huit", "dix-neuf"),
)
_FRENCH_TENS = ("", "", "vingt", "trente", "quarante", "cinquante", "soixante")


def _thousands(number: int) -> tuple[int, int]:
    """342,018 as (342, 18)."""
    if not 0 <= number < 1_000_000:
        raise UsageError(f"{number} cannot be spelt out", remedy="use 0 to 999,999", where="number")
    return divmod(number, 1000)


def english(number: int) -> str:
    """1,042 is `one thousand and forty-two`; 42,300 is `forty-two thousand three hundred`."""
    many, rest = _thousands(number)
    if not many:
        return _english_hundreds(rest)
    head = f"{_english_hundreds(many)} thousand"
    if not rest:
        return head
    return f"{head} {'and ' if rest < 100 else ''}{_english_hundreds(rest)}"


def _english_hundreds(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    if not hundreds:
        return _english_tens(rest)
    head = f"{_ENGLISH[hundreds]} hundred"
    return f"{head} and {_english_tens(rest)}" if rest else head


def _english_tens(number: int) -> str:
    if number < 20:
        return _ENGLISH[number]
    tens, unit = divmod(number, 10)
    return f"{_ENGLISH_TENS[tens]}-{_ENGLISH[unit]}" if unit else _ENGLISH_TENS[tens]


def german(number: int) -> str:
    """22 is `zweiundzwanzig`, 101 is `einhunderteins`, 21,001 is `einundzwanzigtausendeins`."""
    many, rest = _thousands(number)
    head = f"{_german_hundreds(many)}tausend" if many else ""
    tail = _german_hundreds(rest) if rest or not many else ""
    return head + tail + ("s" if number % 100 == 1 else "")


def _german_hundreds(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    head = f"{_GERMAN[hundreds]}hundert" if hundreds else ""
    return head + _german_tens(rest) if rest or not hundreds else head


def _german_tens(number: int) -> str:
    if number < 20:
        return _GERMAN[number]
    tens, unit = divmod(number, 10)
    return f"{_GERMAN[unit]}und{_GERMAN_TENS[tens]}" if unit else _GERMAN_TENS[tens]


def french(number: int) -> str:
    """80 is `quatre-vingts`, 81,000 is `quatre-vingt-un mille`, 1,200 is `mille deux cents`."""
    many, rest = _thousands(number)
    if not many:
        return _french_hundreds(rest, last=True)
    # One thousand is `mille`, never `un mille`.
    head = "mille" if many == 1 else f"{_french_hundreds(many, last=False)} mille"
    return f"{head} {_french_hundreds(rest, last=True)}" if rest else head


def _french_hundreds(number: int, last: bool) -> str:
    hundreds, rest = divmod(number, 100)
    if not hundreds:
        return _french_tens(rest, last)
    plural = "s" if last and not rest else ""
    head = "cent" if hundreds == 1 else f"{_FRENCH[hundreds]} cent{plural}"
    return f"{head} {_french_tens(rest, last)}" if rest else head


def _french_tens(number: int, last: bool) -> str:
    if number < 20:
        return _FRENCH[number]
    if number == 80:
        return "quatre-vingts" if last else "quatre-vingt"
    if number > 80:
        return f"quatre-vingt-{_FRENCH[number - 80]}"
    # 60 to 79 is one stretch: soixante-dix is sixty-ten.
    tens = min(number // 10, 6)
    unit = number - 10 * tens
    if not unit:
        return _FRENCH_TENS[tens]
    return f"{_FRENCH_TENS[tens]}{' et ' if unit in (1, 11) else '-'}{_FRENCH[unit]}"


def _spelled(spell: Callable[[int], str]) -> Callable[[Random], Pair]:
    """Digits to words in one language; each count of digits is drawn as often as any other."""

    def draw(generator: Random) -> Pair:
        number = generator.randrange(10 ** generator.randint(1, 6))
        return Pair(str(number), spell(number))

    return draw


NUMBERS_EN = Toy(
    name="numbers-en",
    title="numbers in English words",
    story="A digit is read by its place: the same 4 is four, forty or four hundred.",
    probe=Pair("42315", "forty-two thousand three hundred and fifteen"),
    draw=_spelled(english),
    unit="char",
)
NUMBERS_DE = Toy(
    name="numbers-de",
    title="numbers in German words",
    story="Units come before tens, zweiundzwanzig, so the eye steps back and forth: "
    "a diagonal with a kink in it.",
    probe=Pair("54321", "vierundfünfzigtausenddreihunderteinundzwanzig"),
    draw=_spelled(german),
    unit="char",
)
NUMBERS_FR = Toy(
    name="numbers-fr",
    title="numbers in French words",
    story="Ninety-seven is four twenties, ten and seven: one digit can take two words to say, "
    "and one word can look at two digits.",
    probe=Pair("80097", "quatre-vingt mille quatre-vingt-dix-sept"),
    draw=_spelled(french),
    unit="char",
)
