"""Number words: read back by a parser for each language, and by hand where languages are irregular."""

import pytest

from regard.data.toys import toy
from regard.data.toys.numerals import english, french, german
from regard.errors import UsageError

ALL_SMALL = [*range(0, 120), *range(120, 2000, 7), 9999, 10_000, 80_000, 100_000, 200_000, 999_999]


def values(words, start, step=1):
    return {word: start + step * place for place, word in enumerate(words.split())}


ENGLISH_WORDS = {
    **values("zero one two three four five six seven eight nine ten eleven twelve thirteen", 0),
    **values("fourteen fifteen sixteen seventeen eighteen nineteen", 14),
    **values("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10),
}


def read_english(text):
    total = part = 0
    for word in text.replace("-", " ").split():
        if word == "thousand":
            total, part = 1000 * part, 0
        elif word == "hundred":
            part *= 100
        elif word != "and":
            part += ENGLISH_WORDS[word]
    return total + part


FRENCH_WORDS = {
    **values("zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize", 0),
    **values("quatorze quinze seize", 14),
    **values("trente quarante cinquante soixante", 30, 10),
}


def read_french(text):
    total = part = 0
    for word in text.replace("-", " ").split():
        if word == "mille":
            total, part = 1000 * (part or 1), 0
        elif word in ("cent", "cents"):
            part = 100 * (part or 1)
        elif word in ("vingt", "vingts"):
            # After a four that is not a hundred's, twenty multiplies.
            part += 76 if part % 100 == 4 else 20
        elif word != "et":
            part += FRENCH_WORDS[word]
    return total + part


GERMAN_UNITS = values("ein zwei drei vier fünf sechs sieben acht neun", 1)
GERMAN_TEENS = values("zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn", 10)
GERMAN_TENS = values("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig", 20, 10)


def read_german(text):
    if text == "null":
        return 0
    head, thousand, tail = text.rpartition("tausend")
    return (1000 * read_german_part(head) if thousand else 0) + read_german_part(tail)


def read_german_part(text):
    head, hundred, tail = text.rpartition("hundert")
    value = 100 * GERMAN_UNITS[head] if hundred else 0
    unit, joined, tens = tail.rpartition("und")
    if joined:
        return value + GERMAN_UNITS[unit] + GERMAN_TENS[tens]
    known = {"": 0, "eins": 1, "neunzehn": 19, **GERMAN_UNITS, **GERMAN_TEENS, **GERMAN_TENS}
    return value + known[tail]


LANGUAGES = {
    "numbers-en": (english, read_english),
    "numbers-fr": (french, read_french),
    "numbers-de": (german, read_german),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_words_read_back_as_the_number(name):
    spell, read = LANGUAGES[name]
    for number in ALL_SMALL:
        assert read(spell(number)) == number
    for example in toy(name).examples("train", 300):
        assert read(example.target) == int(example.source)
        assert example.target == spell(int(example.source))


@pytest.mark.parametrize("name", LANGUAGES)
def test_different_numbers_have_different_words(name):
    spell, _ = LANGUAGES[name]
    assert len({spell(number) for number in range(0, 1_000_000, 1009)}) == len(
        range(0, 1_000_000, 1009)
    )


@pytest.mark.parametrize("spell", [english, french, german])
@pytest.mark.parametrize("number", [-1, 1_000_000])
def test_what_cannot_be_spelt_is_refused(spell, number):
    with pytest.raises(UsageError) as caught:
        spell(number)
    assert str(caught.value) == f"{number} cannot be spelt out\nnumber\nuse 0 to 999,999"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (4, "four"),
        (11, "eleven"),
        (12, "twelve"),
        (13, "thirteen"),
        (14, "fourteen"),
        (15, "fifteen"),
        (18, "eighteen"),
        (20, "twenty"),
        (21, "twenty-one"),
        (40, "forty"),
        (44, "forty-four"),
        (50, "fifty"),
        (80, "eighty"),
        (99, "ninety-nine"),
        (100, "one hundred"),
        (101, "one hundred and one"),
        (110, "one hundred and ten"),
        (342, "three hundred and forty-two"),
        (999, "nine hundred and ninety-nine"),
        (1000, "one thousand"),
        (1001, "one thousand and one"),
        (1042, "one thousand and forty-two"),
        (1100, "one thousand one hundred"),
        (1101, "one thousand one hundred and one"),
        (12_000, "twelve thousand"),
        (100_000, "one hundred thousand"),
        (101_001, "one hundred and one thousand and one"),
        (342_018, "three hundred and forty-two thousand and eighteen"),
        (
            999_999,
            "nine hundred and ninety-nine thousand nine hundred and ninety-nine",
        ),
    ],
)
def test_english(number, words):
    assert english(number) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zéro"),
        (1, "un"),
        (10, "dix"),
        (11, "onze"),
        (16, "seize"),
        (17, "dix-sept"),
        (18, "dix-huit"),
        (19, "dix-neuf"),
        (20, "vingt"),
        (21, "vingt et un"),
        (22, "vingt-deux"),
        (29, "vingt-neuf"),
        (31, "trente et un"),
        (41, "quarante et un"),
        (51, "cinquante et un"),
        (60, "soixante"),
        (61, "soixante et un"),
        (62, "soixante-deux"),
        (69, "soixante-neuf"),
        (70, "soixante-dix"),
        (71, "soixante et onze"),
        (72, "soixante-douze"),
        (76, "soixante-seize"),
        (77, "soixante-dix-sept"),
        (78, "soixante-dix-huit"),
        (79, "soixante-dix-neuf"),
        (80, "quatre-vingts"),
        (81, "quatre-vingt-un"),
        (82, "quatre-vingt-deux"),
        (89, "quatre-vingt-neuf"),
        (90, "quatre-vingt-dix"),
        (91, "quatre-vingt-onze"),
        (92, "quatre-vingt-douze"),
        (96, "quatre-vingt-seize"),
        (97, "quatre-vingt-dix-sept"),
        (99, "quatre-vingt-dix-neuf"),
        (100, "cent"),
        (101, "cent un"),
        (120, "cent vingt"),
        (171, "cent soixante et onze"),
        (180, "cent quatre-vingts"),
        (200, "deux cents"),
        (201, "deux cent un"),
        (280, "deux cent quatre-vingts"),
        (281, "deux cent quatre-vingt-un"),
        (900, "neuf cents"),
        (999, "neuf cent quatre-vingt-dix-neuf"),
        (1000, "mille"),
        (1001, "mille un"),
        (1080, "mille quatre-vingts"),
        (1100, "mille cent"),
        (1200, "mille deux cents"),
        (2000, "deux mille"),
        (2026, "deux mille vingt-six"),
        (10_000, "dix mille"),
        (21_000, "vingt et un mille"),
        (71_000, "soixante et onze mille"),
        (80_000, "quatre-vingt mille"),
        (80_080, "quatre-vingt mille quatre-vingts"),
        (81_000, "quatre-vingt-un mille"),
        (100_000, "cent mille"),
        (101_000, "cent un mille"),
        (200_000, "deux cent mille"),
        (200_200, "deux cent mille deux cents"),
        (
            999_999,
            "neuf cent quatre-vingt-dix-neuf mille neuf cent quatre-vingt-dix-neuf",
        ),
    ],
)
def test_french(number, words):
    assert french(number) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "null"),
        (1, "eins"),
        (2, "zwei"),
        (6, "sechs"),
        (7, "sieben"),
        (10, "zehn"),
        (11, "elf"),
        (12, "zwölf"),
        (13, "dreizehn"),
        (16, "sechzehn"),
        (17, "siebzehn"),
        (20, "zwanzig"),
        (21, "einundzwanzig"),
        (22, "zweiundzwanzig"),
        (30, "dreißig"),
        (31, "einunddreißig"),
        (60, "sechzig"),
        (66, "sechsundsechzig"),
        (70, "siebzig"),
        (77, "siebenundsiebzig"),
        (99, "neunundneunzig"),
        (100, "einhundert"),
        (101, "einhunderteins"),
        (111, "einhundertelf"),
        (121, "einhunderteinundzwanzig"),
        (200, "zweihundert"),
        (201, "zweihunderteins"),
        (616, "sechshundertsechzehn"),
        (1000, "eintausend"),
        (1001, "eintausendeins"),
        (1011, "eintausendelf"),
        (1100, "eintausendeinhundert"),
        (1101, "eintausendeinhunderteins"),
        (2026, "zweitausendsechsundzwanzig"),
        (12_000, "zwölftausend"),
        (21_000, "einundzwanzigtausend"),
        (21_001, "einundzwanzigtausendeins"),
        (100_000, "einhunderttausend"),
        (101_000, "einhunderteintausend"),
        (101_101, "einhunderteintausendeinhunderteins"),
        (999_999, "neunhundertneunundneunzigtausendneunhundertneunundneunzig"),
    ],
)
def test_german(number, words):
    assert german(number) == words
