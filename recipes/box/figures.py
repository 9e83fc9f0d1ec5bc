"""Numbers, money, times, dates, measures and names in three languages, to fill the places of a sentence."""

from __future__ import annotations

import random
from collections.abc import Callable

from grammar import CITIES, COUNTRIES, NOUNS, Triple


def _words(text: str) -> list[str]:
    return text.split()


_UNITS_EN = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS_EN = _words(". . twenty thirty forty fifty sixty seventy eighty ninety")
_UNITS_DE = _words(
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn "
    "sechzehn siebzehn achtzehn neunzehn"
)
_TENS_DE = _words(". . zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
_UNITS_FR = _words(
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf"
)
_TENS_FR = _words(". . vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt")


def said_en(number: int) -> str:
    if number >= 100:
        hundreds, rest = divmod(number, 100)
        return f"{_UNITS_EN[hundreds]} hundred" + (f" and {said_en(rest)}" if rest else "")
    if number < 20:
        return _UNITS_EN[number]
    tens, rest = divmod(number, 10)
    return _TENS_EN[tens] + (f"-{_UNITS_EN[rest]}" if rest else "")


def said_de(number: int) -> str:
    if number >= 100:
        hundreds, rest = divmod(number, 100)
        return f"{_UNITS_DE[hundreds]}hundert" + (said_de(rest) if rest else "")
    if number == 1:
        return "eins"
    if number < 20:
        return _UNITS_DE[number]
    tens, rest = divmod(number, 10)
    return (f"{_UNITS_DE[rest]}und" if rest else "") + _TENS_DE[tens]


def said_fr(number: int) -> str:
    if number >= 100:
        hundreds, rest = divmod(number, 100)
        cent = "cent" if hundreds == 1 else f"{_UNITS_FR[hundreds]} cent"
        return f"{cent} {said_fr(rest)}" if rest else cent + ("s" if hundreds > 1 else "")
    if number < 20:
        return _UNITS_FR[number]
    tens, rest = divmod(number, 10)
    if tens in (7, 9):
        rest += 10
    if number == 80:
        return "quatre-vingts"
    if rest == 0:
        return _TENS_FR[tens]
    if rest in (1, 11) and tens < 8:
        return f"{_TENS_FR[tens]} et {_UNITS_FR[rest]}"
    return f"{_TENS_FR[tens]}-{_UNITS_FR[rest]}"


def figures(number: int | float, places: int = 0) -> Triple:
    """`1,299.99`, `1.299,99`, `1 299,99`."""
    text = f"{number:,.{places}f}"
    german = text.translate(str.maketrans(",.", ".,"))
    french = text.translate(str.maketrans(",.", " ,"))
    return text, german, french


def amount(dice: random.Random) -> tuple[float, int]:
    """A number of money as people write it, and how many decimals it has."""
    chance = dice.random()
    if chance < 0.35:
        return dice.randint(1, 99) + dice.choice((0.99, 0.5, 0.95, 0.49, 0.75, 0.2, 0.05)), 2
    if chance < 0.6:
        return dice.randint(1_000, 99_999) + dice.randint(1, 99) / 100, 2
    if chance < 0.7:
        return dice.randint(100, 999) + dice.randint(1, 99) / 100, 2
    if chance < 0.8:
        return dice.randint(2, 999), 0
    if chance < 0.92:
        return dice.randint(1_000, 99_999), 0
    return dice.randint(100_000, 9_999_999), 0


MONEY = (
    (("${}", "{} $", "{} $"), 4),
    (("€{}", "{} €", "{} €"), 4),
    (("£{}", "{} £", "{} £"), 3),
    (("{} dollars", "{} Dollar", "{} dollars"), 1),
    (("{} euros", "{} Euro", "{} euros"), 1),
    (("{} Swiss francs", "{} Schweizer Franken", "{} francs suisses"), 0.5),
    (("{} pounds", "{} Pfund", "{} livres"), 0.5),
)


def money(dice: random.Random) -> Triple:
    forms = dice.choices([form for form, _ in MONEY], [weight for _, weight in MONEY])[0]
    value = amount(dice)
    said = figures(*value)
    return tuple(form.format(text) for form, text in zip(forms, said, strict=True))  # type: ignore[return-value]


def clock(dice: random.Random) -> Triple:
    """A time by twelve hours, in German and French by twenty-four."""
    hour, minute = (
        dice.randint(0, 23),
        dice.choice((0, 0, 5, 10, 15, 20, 25, 30, 30, 40, 45, 50, 55)),
    )
    if dice.random() < 0.2:
        minute = dice.randint(1, 59)
    twelve, half = (hour % 12) or 12, "a.m." if hour < 12 else "p.m."
    style = dice.random()
    half = (
        half
        if style < 0.65
        else half.replace(".", "")
        if style < 0.85
        else half.replace(".", "").upper()
    )
    if minute == 0 and dice.random() < 0.8:
        return f"{twelve} {half}", f"{hour} Uhr", f"{hour} {'heures' if hour > 1 else 'heure'}"
    english = (
        f"{twelve}:{minute:02d} {half}" if dice.random() < 0.85 else f"{hour:02d}:{minute:02d}"
    )
    return english, f"{hour}:{minute:02d} Uhr", f"{hour} h {minute:02d}"


def said_clock(dice: random.Random) -> Triple:
    """A time as people say it: `halb sieben` is half past six."""
    hour, minutes = dice.randint(1, 11), dice.choice((5, 10, 15, 15, 20, 30, 30, 30))
    heures = "une heure" if hour == 1 else f"{said_fr(hour)} heures"
    if minutes == 30:
        return f"half past {said_en(hour)}", f"halb {said_de(hour + 1)}", f"{heures} et demie"
    before = dice.random() < 0.5
    if minutes == 15:
        past = f"a quarter {'to' if before else 'past'} {said_en(hour)}"
        nach = f"Viertel {'vor' if before else 'nach'} {said_de(hour)}"
        return past, nach, f"{heures} {'moins le' if before else 'et'} quart"
    past = f"{said_en(minutes)} {'to' if before else 'past'} {said_en(hour)}"
    nach = f"{said_de(minutes)} {'vor' if before else 'nach'} {said_de(hour)}"
    return past, nach, f"{heures} {'moins ' if before else ''}{said_fr(minutes)}"


MONTHS = (
    ("January", "Januar", "janvier"),
    ("February", "Februar", "février"),
    ("March", "März", "mars"),
    ("April", "April", "avril"),
    ("May", "Mai", "mai"),
    ("June", "Juni", "juin"),
    ("July", "Juli", "juillet"),
    ("August", "August", "août"),
    ("September", "September", "septembre"),
    ("October", "Oktober", "octobre"),
    ("November", "November", "novembre"),
    ("December", "Dezember", "décembre"),
)
DAYS = (
    ("Monday", "Montag", "lundi"),
    ("Tuesday", "Dienstag", "mardi"),
    ("Wednesday", "Mittwoch", "mercredi"),
    ("Thursday", "Donnerstag", "jeudi"),
    ("Friday", "Freitag", "vendredi"),
    ("Saturday", "Samstag", "samedi"),
    ("Sunday", "Sonntag", "dimanche"),
)


def th(number: int) -> str:
    last = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{last}"


def date(dice: random.Random, year: bool | None = None) -> Triple:
    """A day and a month, most often with a year."""
    day, month = dice.randint(1, 28 if dice.random() < 0.8 else 30), dice.choice(MONTHS)
    if month[0] == "February":
        day = min(day, 28)
    with_year = dice.random() < 0.65 if year is None else year
    number = dice.choice((dice.randint(1950, 2030), dice.randint(1500, 1949)))
    jour = "1er" if day == 1 else str(day)
    german, french = f"{day}. {month[1]}", f"{jour} {month[2]}"
    forms = [f"{month[0]} {day}", f"{day} {month[0]}"]
    if not with_year:
        forms += [f"{month[0]} {th(day)}"]
        return dice.choice(forms), german, french
    first = f"{month[0]} {day}, {number}" if dice.random() < 0.5 else f"{day} {month[0]} {number}"
    return first, f"{german} {number}", f"{french} {number}"


MEASURES = (
    ("{} km", "{} km", "{} km"),
    ("{} kilometres", "{} Kilometer", "{} kilomètres"),
    ("{} metres", "{} Meter", "{} mètres"),
    ("{} centimetres", "{} Zentimeter", "{} centimètres"),
    ("{} cm", "{} cm", "{} cm"),
    ("{} mm", "{} mm", "{} mm"),
    ("{} m", "{} m", "{} m"),
    ("{} miles", "{} Meilen", "{} miles"),
    ("{} feet", "{} Fuß", "{} pieds"),
    ("{} inches", "{} Zoll", "{} pouces"),
)
WEIGHTS = (
    ("{} kg", "{} kg", "{} kg"),
    ("{} kilos", "{} Kilo", "{} kilos"),
    ("{} kilograms", "{} Kilogramm", "{} kilogrammes"),
    ("{} grams", "{} Gramm", "{} grammes"),
    ("{} g", "{} g", "{} g"),
    ("{} tons", "{} Tonnen", "{} tonnes"),
    ("{} pounds", "{} Pfund", "{} livres"),
)
SPEEDS = (
    ("{} km/h", "{} km/h", "{} km/h"),
    ("{} kilometres per hour", "{} Kilometern pro Stunde", "{} kilomètres à l'heure"),
    ("{} mph", "{} Meilen pro Stunde", "{} miles à l'heure"),
)


def quantity(dice: random.Random, units: tuple[Triple, ...], most: int = 2000) -> Triple:
    places = dice.choice((0, 0, 1, 2))
    value = dice.randint(2, most) if places == 0 else dice.randint(11, most * 10) / 10**places
    if places and value < 2:
        value += 2
    said = figures(value, places if value % 1 else 0)
    return tuple(unit.format(text) for unit, text in zip(dice.choice(units), said, strict=True))  # type: ignore[return-value]


def percent(dice: random.Random) -> Triple:
    value = dice.choice(
        (dice.randint(1, 100), dice.randint(1, 999) / 10, dice.randint(1, 9999) / 100)
    )
    text = figures(value, 0 if value % 1 == 0 else 1 if round(value * 10) == value * 10 else 2)
    return f"{text[0]}%", f"{text[1]} %", f"{text[2]} %"


PEOPLE = _words(
    "Anna Ben Clara David Emma Felix Greta Henri Ida Jonas Karl Laura Marie Nina Oscar Paul Rosa Simon "
    "Thomas Vera Walter Julia Peter Sophie Louis Claire Hugo Alice Martin Elena Robert Nadia Victor Lena"
)
SHE = frozenset(
    _words(
        "Anna Clara Emma Greta Ida Laura Marie Nina Rosa Vera Julia Sophie Claire Alice Elena Nadia Lena"
    )
)
FAMILIES = _words(
    "Schmidt Weber Fischer Becker Wagner Hoffmann Richter Klein Wolf Braun Dupont Martin Bernard Moreau "
    "Laurent Lefebvre Girard Fontaine Rousseau Mercier Smith Johnson Brown Taylor Wilson Evans Clarke "
    "Harris Cooper Bennett Novak Rossi Garcia Silva Jensen Larsen Nguyen Kim Tanaka Patel O'Connor"
)


def person(dice: random.Random) -> Triple:
    name = dice.choice(PEOPLE)
    if dice.random() < 0.4:
        name += " " + dice.choice(FAMILIES)
    return name, name, name


def title(dice: random.Random) -> Triple:
    name = dice.choice(FAMILIES)
    forms = (("Mr", "Herr", "M."), ("Mrs", "Frau", "Mme"), ("Dr", "Dr.", "Dr"))
    form = dice.choice(forms)
    return f"{form[0]} {name}", f"{form[1]} {name}", f"{form[2]} {name}"


def city(dice: random.Random) -> Triple:
    row = dice.choice(CITIES)
    return row[0], row[1], row[2]


def in_city(dice: random.Random) -> Triple:
    row = dice.choice(CITIES)
    return f"in {row[0]}", f"in {row[1]}", row[3]


def to_city(dice: random.Random) -> Triple:
    row = dice.choice(CITIES)
    return f"to {row[0]}", f"nach {row[1]}", row[3]


def from_city(dice: random.Random) -> Triple:
    row = dice.choice(CITIES)
    return f"from {row[0]}", f"aus {row[1]}", row[4]


def in_country(dice: random.Random) -> Triple:
    row = dice.choice(COUNTRIES)
    return f"in {row[0]}", row[2], row[6]


def to_country(dice: random.Random) -> Triple:
    row = dice.choice(COUNTRIES)
    return f"to {row[0]}", row[3], row[6]


def from_country(dice: random.Random) -> Triple:
    row = dice.choice(COUNTRIES)
    return f"from {row[0]}", row[4], row[7]


def year(dice: random.Random) -> Triple:
    text = str(dice.choice((dice.randint(1945, 2029), dice.randint(1450, 1944))))
    return text, text, text


def decade(dice: random.Random) -> Triple:
    text = dice.randint(170, 202) * 10
    return f"in the {text}s", f"in den {text}er Jahren", f"dans les années {text}"


ROMAN = dict(
    zip(range(9, 22), _words("IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX XXI"), strict=True)
)


def century(dice: random.Random) -> Triple:
    number = dice.choice(list(ROMAN))
    words = {
        12: "twelfth",
        16: "sixteenth",
        17: "seventeenth",
        18: "eighteenth",
        19: "nineteenth",
        20: "twentieth",
    }
    english = words[number] if number in words and dice.random() < 0.4 else th(number)
    return f"in the {english} century", f"im {number}. Jahrhundert", f"au {ROMAN[number]}e siècle"


def day(dice: random.Random) -> Triple:
    row = dice.choice(DAYS)
    return f"on {row[0]}", f"am {row[1]}", row[2]


def ordinal(dice: random.Random) -> Triple:
    number = dice.randint(2, 40)
    return th(number), f"{number}.", f"{number}e"


def count(dice: random.Random) -> Triple:
    number = dice.choice(
        (dice.randint(2, 999), dice.randint(1000, 999_999), dice.randint(1000, 50_000))
    )
    return figures(number)


def large(dice: random.Random) -> Triple:
    places = dice.choice((0, 1, 1, 2))
    number = dice.randint(2, 900) if not places else dice.randint(21, 990) / 10**places + 2
    value = figures(number, places if number % 1 else 0)
    unit = dice.choice(
        (("million", "Millionen", "millions"), ("billion", "Milliarden", "milliards"))
    )
    return f"{value[0]} {unit[0]}", f"{value[1]} {unit[1]}", f"{value[2]} {unit[2]}"


def rich(dice: random.Random) -> Triple:
    value = large(dice)
    forms = (
        ("${}", "{} Dollar", "{} de dollars"),
        ("€{}", "{} €", "{} €"),
        ("{} euros", "{} Euro", "{} d'euros"),
        ("£{}", "{} £", "{} £"),
    )
    form = dice.choice(forms)
    return form[0].format(value[0]), form[1].format(value[1]), form[2].format(value[2])


def degrees(dice: random.Random) -> Triple:
    number, mark = dice.randint(-30, 45), dice.choice(("°C", "°C", "°F", "degrees"))
    if mark == "degrees":
        number = abs(number) + 2
        return f"{number} degrees", f"{number} Grad", f"{number} degrés"
    minus = str(number) if number >= 0 else f"-{-number}"
    english = f"{minus}{mark}" if dice.random() < 0.5 else f"{minus} {mark}"
    return english, f"{minus} {mark}", f"{minus} {mark}"


def telephone(dice: random.Random) -> Triple:
    digits = lambda n: "".join(str(dice.randrange(10)) for _ in range(n))  # noqa: E731
    text = dice.choice(
        (
            f"555-{digits(4)}",
            f"+49 {dice.randint(30, 89)} {digits(7)}",
            f"+33 1 {digits(2)} {digits(2)} {digits(2)} {digits(2)}",
            f"0{dice.randint(30, 89)}/{digits(6)}",
            f"({digits(3)}) 555-{digits(4)}",
            f"020 {digits(4)} {digits(4)}",
        )
    )
    return text, text, text


def code(dice: random.Random) -> Triple:
    letters = "".join(dice.choice("ABCDEFGHKLMNPRSTUVWX") for _ in range(2))
    text = dice.choice(
        (
            f"{letters}{dice.randint(100, 9999)}",
            f"{letters}-{dice.randint(10, 999)}",
            f"{dice.randint(2, 999)}{letters[0]}",
            f"{dice.randint(1, 19)}.{dice.randint(0, 19)}.{dice.randint(0, 9)}",
        )
    )
    return text, text, text


def score(dice: random.Random) -> Triple:
    won, lost = dice.randint(1, 7), dice.randint(0, 5)
    if dice.random() < 0.2:
        won, lost = dice.randint(60, 120), dice.randint(50, 119)
    return f"{won}-{lost}", f"{won}:{lost}", f"{won}-{lost}"


def spoken(dice: random.Random) -> Triple:
    number = dice.choice(
        (dice.randint(2, 20), dice.randint(13, 99), dice.randint(21, 99), dice.randint(100, 999))
    )
    while number % 100 == 1 or number % 10 == 1:
        number += 1
    return said_en(number), said_de(number), said_fr(number)


def several(dice: random.Random) -> Triple:
    """`14 knives`, `14 Messer`, `14 couteaux`."""
    noun = dice.choice(
        [
            noun
            for noun in NOUNS
            if noun.kinds & {"thing", "animal", "furniture", "clothes", "fruit", "vehicle"}
        ]
    )
    return noun.many, noun.dinge, noun.choses


def oclock(dice: random.Random) -> Triple:
    hour = dice.randint(2, 12)
    return said_en(hour), said_de(hour), said_fr(hour)


def few(dice: random.Random) -> Triple:
    """A number as a word, or in figures."""
    if dice.random() < 0.7:
        return spoken(dice)
    text = str(dice.randint(2, 99))
    return text, text, text


def month(dice: random.Random) -> Triple:
    return dice.choice(MONTHS)


def country(dice: random.Random) -> Triple:
    row = dice.choice(COUNTRIES)
    return row[0], row[1], row[5]


def in_place(dice: random.Random) -> Triple:
    return dice.choice((in_city, in_country))(dice)


def to_place(dice: random.Random) -> Triple:
    return dice.choice((to_city, to_country))(dice)


def from_place(dice: random.Random) -> Triple:
    return dice.choice((from_city, from_country))(dice)


def length(dice: random.Random) -> Triple:
    return quantity(dice, MEASURES)


def weight(dice: random.Random) -> Triple:
    return quantity(dice, WEIGHTS, 900)


def speed(dice: random.Random) -> Triple:
    return quantity(dice, SPEEDS, 300)


WATERS = (
    ("Seine", "der Seine", "de la Seine"),
    ("Rhine", "des Rheins", "du Rhin"),
    ("Thames", "der Themse", "de la Tamise"),
    ("Elbe", "der Elbe", "de l'Elbe"),
    ("Loire", "der Loire", "de la Loire"),
    ("Danube", "der Donau", "du Danube"),
    ("Nile", "des Nils", "du Nil"),
    ("canal", "des Kanals", "du canal"),
    ("stream", "des Baches", "du ruisseau"),
    ("Moselle", "der Mosel", "de la Moselle"),
)


def water(dice: random.Random) -> Triple:
    return dice.choice(WATERS)


_ALL: tuple[Callable[[random.Random], Triple], ...] = (
    *(money, rich, clock, said_clock, oclock, date, day, month, year, decade, century),
    *(percent, count, few, several, large, ordinal, spoken, telephone, code, score),
    *(length, weight, speed, degrees, water),
    *(person, title, city, country, in_city, in_country, in_place, to_place, from_place),
)
SLOTS = {slot.__name__: slot for slot in _ALL}
