"""Numbers in French words, in the traditional spelling (before the changes of 1990).

Below a hundred a hyphen joins what `et` does not: `vingt-deux`, but `vingt et un` and `soixante et
onze`; above, spaces do. France counts 70 as 60 + 10, 80 as 4 x 20, 90 as 4 x 20 + 10. `vingt` and
`cent` take an s when multiplied and last (`quatre-vingts`, `deux cents`), and not before another
number (`quatre-vingt-un`, `deux cent un`, `deux cent mille`); `mille` never does.
"""

from __future__ import annotations

from regard.data.toys.number import number_toy, thousands

_SMALL = (
    *("zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"),
    *("dix", "onze", "douze", "treize", "quatorze", "quinze", "seize"),
    *("dix-sept", "dix-huit", "dix-neuf"),
)
_TENS = ("", "", "vingt", "trente", "quarante", "cinquante", "soixante")


def french(number: int) -> str:
    """80 is `quatre-vingts`, 81,000 is `quatre-vingt-un mille`, 1,200 is `mille deux cents`."""
    many, rest = thousands(number)
    if not many:
        return _below_thousand(rest, last=True)
    # One thousand is `mille`, never `un mille`.
    head = "mille" if many == 1 else f"{_below_thousand(many, last=False)} mille"
    return f"{head} {_below_thousand(rest, last=True)}" if rest else head


def _below_thousand(number: int, last: bool) -> str:
    hundreds, rest = divmod(number, 100)
    if not hundreds:
        return _below_hundred(rest, last)
    plural = "s" if last and not rest else ""
    head = "cent" if hundreds == 1 else f"{_SMALL[hundreds]} cent{plural}"
    return f"{head} {_below_hundred(rest, last)}" if rest else head


def _below_hundred(number: int, last: bool) -> str:
    if number < 20:
        return _SMALL[number]
    if number == 80:
        return "quatre-vingts" if last else "quatre-vingt"
    if number > 80:
        return f"quatre-vingt-{_SMALL[number - 80]}"
    # 60 to 79 is one stretch: soixante-dix is sixty-ten.
    tens = min(number // 10, 6)
    unit = number - 10 * tens
    if not unit:
        return _TENS[tens]
    return f"{_TENS[tens]}{' et ' if unit in (1, 11) else '-'}{_SMALL[unit]}"


NUMBERS_FR = number_toy(
    name="numbers-fr",
    title="numbers in French words",
    story="Ninety-seven is four twenties, ten and seven: one digit can take two words to say, "
    "and one word can look at two digits.",
    probe=80_097,
    spell=french,
)
