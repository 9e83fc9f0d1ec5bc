"""Numbers in English words: British usage, with `and` before the tens and a hyphen inside them."""

from __future__ import annotations

from regard.data.toys.number import number_toy, thousands

_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"),
    *("seventeen", "eighteen", "nineteen"),
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def english(number: int) -> str:
    """1,042 is `one thousand and forty-two`; 42,300 is `forty-two thousand three hundred`."""
    many, rest = thousands(number)
    if not many:
        return _below_thousand(rest)
    head = f"{_below_thousand(many)} thousand"
    if not rest:
        return head
    return f"{head} {'and ' if rest < 100 else ''}{_below_thousand(rest)}"


def _below_thousand(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    if not hundreds:
        return _below_hundred(rest)
    head = f"{_SMALL[hundreds]} hundred"
    return f"{head} and {_below_hundred(rest)}" if rest else head


def _below_hundred(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    tens, unit = divmod(number, 10)
    return f"{_TENS[tens]}-{_SMALL[unit]}" if unit else _TENS[tens]


NUMBERS_EN = number_toy(
    name="numbers-en",
    title="numbers in English words",
    story="A digit is read by its place: the same 4 is four, forty or four hundred.",
    probe=42_315,
    spell=english,
)
