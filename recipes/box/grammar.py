"""Words in three languages and how they stand together: articles, cases, genders, places of adjectives.

`made.py` builds sentences from it. The words are in `made/*.txt`; only forms that those lists need are here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent

Triple = tuple[str, str, str]  # English, German, French

VOWELS = "aeiouyàâéèêëîïôûœAEIOUÀÂÉÈÊÎÔŒh"


def rows(name: str) -> list[list[str]]:
    """The lines of one of the lists, cut at `|`."""
    text = (HERE / "made" / name).read_text("utf-8")
    return [
        [cell.strip() for cell in line.split("|")]
        for line in text.splitlines()
        if line and not line.startswith("#")
    ]


@dataclass(frozen=True)
class Noun:
    """A thing in three languages."""

    one: str
    many: str
    gender: str  # German: m, f, n
    weak: bool
    ding: str
    dinge: str
    genre: str  # French: m, f
    aspirated: bool
    chose: str
    choses: str
    kinds: frozenset[str]

    @property
    def vowel(self) -> bool:
        """Whether French articles lose their vowel before it."""
        return self.chose[0] in VOWELS and not self.aspirated

    @classmethod
    def read(cls, english: str, german: str, french: str, kinds: str) -> Noun:
        one, _, many = english.partition("/")
        gender, _, forms = german.partition(" ")
        ding, _, dinge = forms.partition("/")
        genre, _, mots = french.partition(" ")
        chose, _, choses = mots.replace("*", "").partition("/")
        names = frozenset(kinds.split()) | {one}
        return cls(
            one,
            many or one + "s",
            gender[0],
            gender.endswith("w"),
            ding,
            dinge,
            genre,
            "*" in mots,
            chose,
            choses or chose + "s",
            names,
        )


@dataclass(frozen=True)
class Adjective:
    """A property in three languages."""

    english: str
    german: str
    stem: str
    il: str
    elle: str
    bel: str  # before a vowel
    place: str  # < before the noun, > after it, = never beside it
    kinds: frozenset[str]

    @classmethod
    def read(cls, english: str, german: str, french: str, kinds: str) -> Adjective:
        word, _, stem = german.partition(" ")
        forms, place = french.rsplit(" ", 1)
        il, elle, *bel = forms.split("/")
        return cls(
            english,
            word,
            stem or word,
            il,
            elle,
            bel[0] if bel else il,
            place,
            frozenset(kinds.split()),
        )

    def fr(self, noun: Noun) -> str:
        return self.elle if noun.genre == "f" else self.il


@dataclass(frozen=True)
class Verb:
    """Something done to a thing."""

    base: str
    past: str
    done: str
    infinitive: str
    zu: str
    getan: str
    faire: str
    fait: str
    kinds: frozenset[str]

    @classmethod
    def read(cls, english: str, german: str, french: str, kinds: str) -> Verb:
        base, past, *done = english.split("/")
        tun, getan = german.split("/")
        faire, fait = french.split("/")
        prefix, _, rest = tun.rpartition("~")
        zu = f"{prefix}zu{rest}" if prefix else f"zu {tun}"
        return cls(
            base,
            past,
            done[0] if done else past,
            prefix + rest,
            zu,
            getan,
            faire,
            fait,
            frozenset(kinds.split()),
        )


GROUPS = {
    "coats": "coat jacket jumper raincoat",
    "car": "car bus lorry tractor taxi",
    "milk": "cow goat sheep",
    "climb": "mountain hill volcano",
    "curtains": "curtain",
    "warmfood": "soup pizza pie",
    "knit": "jumper scarf sock cap",
    "public": "bus train tram plane ferry",
    "flower": "flower rose tulip sunflower",
}

NOUNS = [Noun.read(*row) for row in rows("nouns.txt")]
ADJECTIVES = [Adjective.read(*row) for row in rows("adjectives.txt")]
VERBS = [Verb.read(*row) for row in rows("verbs.txt")]
CITIES = rows("places.txt")
COUNTRIES = rows("countries.txt")


def fitting(kinds: frozenset[str] | str) -> list[Noun]:
    """The nouns of any of these kinds, or of these names."""
    wanted = set(kinds.split() if isinstance(kinds, str) else kinds)
    for group in wanted & set(GROUPS):
        wanted |= set(GROUPS[group].split())
    return [noun for noun in NOUNS if noun.kinds & wanted]


BY_NAME = {noun.one: noun for noun in NOUNS}


def called(names: str) -> list[Noun]:
    """The nouns of these names, in this order."""
    return [BY_NAME[name] for name in names.split()]


FITS = {adjective: fitting(adjective.kinds) for adjective in ADJECTIVES}
OBJECTS = {verb: fitting(verb.kinds) for verb in VERBS}
VERBS = [verb for verb in VERBS if OBJECTS[verb]]

_DEF = {
    "nom": {"m": "der", "f": "die", "n": "das"},
    "acc": {"m": "den", "f": "die", "n": "das"},
    "dat": {"m": "dem", "f": "der", "n": "dem"},
}
_EIN = {
    "nom": {"m": "", "f": "e", "n": ""},
    "acc": {"m": "en", "f": "e", "n": ""},
    "dat": {"m": "em", "f": "er", "n": "em"},
}
_WEAK = {
    "nom": {"m": "e", "f": "e", "n": "e"},
    "acc": {"m": "en", "f": "e", "n": "e"},
    "dat": {"m": "en", "f": "en", "n": "en"},
}
MIXED = {
    "nom": {"m": "er", "f": "e", "n": "es"},
    "acc": {"m": "en", "f": "e", "n": "es"},
    "dat": {"m": "en", "f": "en", "n": "en"},
}
_DIES = {
    "nom": {"m": "er", "f": "e", "n": "es"},
    "acc": {"m": "en", "f": "e", "n": "es"},
    "dat": {"m": "em", "f": "er", "n": "em"},
}
_OWN_DE = {
    "a": "ein",
    "my": "mein",
    "your": "dein",
    "his": "sein",
    "her": "ihr",
    "our": "unser",
    "no": "kein",
}
_OWN_FR = {"my": "m", "your": "t", "his": "s", "her": "s"}
ER = {"m": "er", "f": "sie", "n": "es"}
IHN = {"m": "ihn", "f": "sie", "n": "es"}
IL = {"m": "il", "f": "elle"}
LE = {"m": "le", "f": "la"}


def en(noun: Noun, det: str = "the", adjective: Adjective | None = None) -> str:
    words = f"{adjective.english} {noun.one}" if adjective else noun.one
    if det == "a" and words[0] in "aeiou" and not words.startswith(("use", "one")):
        det = "an"
    return f"{det} {words}"


def de(noun: Noun, case: str, det: str = "the", adjective: Adjective | None = None) -> str:
    name = noun.dinge if noun.weak and case != "nom" else noun.ding
    if det == "the":
        article, endings = _DEF[case][noun.gender], _WEAK
    elif det == "this":
        article, endings = "dies" + _DIES[case][noun.gender], _WEAK
    else:
        article, endings = _OWN_DE[det] + _EIN[case][noun.gender], MIXED
    if adjective is None:
        return f"{article} {name}"
    return f"{article} {adjective.stem}{endings[case][noun.gender]} {name}"


def fr(noun: Noun, det: str = "the", adjective: Adjective | None = None) -> str:
    before = after = ""
    vowel = noun.vowel
    if adjective is not None and adjective.place == "<":
        form = adjective.elle if noun.genre == "f" else adjective.bel if vowel else adjective.il
        before, vowel = form + " ", form[0] in VOWELS and not form.startswith("h")
    elif adjective is not None:
        after = " " + adjective.fr(noun)
    rest = f"{before}{noun.chose}{after}"
    if det == "the":
        return f"l'{rest}" if vowel else f"{LE[noun.genre]} {rest}"
    if det == "a":
        return f"{'une' if noun.genre == 'f' else 'un'} {rest}"
    if det == "no":
        return f"d'{rest}" if vowel else f"de {rest}"
    if det == "this":
        return f"{'cette' if noun.genre == 'f' else 'cet' if vowel else 'ce'} {rest}"
    if det == "our":
        return f"notre {rest}"
    return f"{_OWN_FR[det]}{'a' if noun.genre == 'f' and not vowel else 'on'} {rest}"


def du(noun: Noun) -> str:
    """`du pont`, `de la rue`, `de l'église`."""
    return "du " + noun.chose if not noun.vowel and noun.genre == "m" else "de " + fr(noun)


def im(noun: Noun) -> str:
    """`im Garten`, `in der Küche`."""
    name = noun.dinge if noun.weak else noun.ding
    return f"in der {name}" if noun.gender == "f" else f"im {name}"


def ins(noun: Noun) -> str:
    """`in den Garten`, `in die Küche`, `ins Haus`."""
    return f"ins {noun.ding}" if noun.gender == "n" else "in " + de(noun, "acc")


def zum(noun: Noun) -> str:
    return f"zur {noun.ding}" if noun.gender == "f" else f"zum {noun.ding}"


def au(noun: Noun) -> str:
    """`au musée`, `à la gare`, `à l'école`."""
    return f"au {noun.chose}" if not noun.vowel and noun.genre == "m" else "à " + fr(noun)


def up(text: str) -> str:
    return text[0].upper() + text[1:]
