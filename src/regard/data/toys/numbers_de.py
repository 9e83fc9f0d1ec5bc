"""Numbers in German words: one long word, units before tens.

The full forms are written, with their `ein`: `einhunderteins` and `eintausend`, where speech also
has `hunderteins` and `tausend`. One is `eins` at the end of a number and `ein` inside it.
"""

from __future__ import annotations

from regard.data.toys.number import number_toy, thousands

_SMALL = (
    *("null", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"),
    *("zehn", "elf", "zwölf", "dreizehn", "vierzehn", "fünfzehn", "sechzehn"),
    *("siebzehn", "achtzehn", "neunzehn"),
)
_TENS = (
    *("", "", "zwanzig", "dreißig", "vierzig"),
    *("fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"),
)


def german(number: int) -> str:
    """22 is `zweiundzwanzig`, 101 is `einhunderteins`, 21,001 is `einundzwanzigtausendeins`."""
    many, rest = thousands(number)
    head = f"{_below_thousand(many)}tausend" if many else ""
    tail = _below_thousand(rest) if rest or not many else ""
    return head + tail + ("s" if number % 100 == 1 else "")


def _below_thousand(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    head = f"{_SMALL[hundreds]}hundert" if hundreds else ""
    return head + _below_hundred(rest) if rest or not hundreds else head


def _below_hundred(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    tens, unit = divmod(number, 10)
    return f"{_SMALL[unit]}und{_TENS[tens]}" if unit else _TENS[tens]


NUMBERS_DE = number_toy(
    name="numbers-de",
    title="numbers in German words",
    story="Units come before tens, zweiundzwanzig, so the eye steps back and forth: "
    "a diagonal with a kink in it.",
    probe=54_321,
    spell=german,
)
