"""The words of the `phrases` toy, in English and in French.

What a noun is (`creature`, `food`, ...) says which verbs, adjectives and prepositions it goes with,
so that the cat eats the cake and not the bridge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

Gender = Literal["m", "f"]


@final
@dataclass(frozen=True)
class Noun:
    """A noun with its plurals. `unique` is for what there is but one of: the moon."""

    english: str
    french: str
    gender: Gender
    kinds: tuple[str, ...]
    english_plural: str = ""
    french_plural: str = ""
    unique: bool = False

    def in_english(self, plural: bool) -> str:
        """`cat`, `cats`; what is irregular was spelt out."""
        return (self.english_plural or f"{self.english}s") if plural else self.english

    def in_french(self, plural: bool) -> str:
        """`chat`, `chats`; what is irregular was spelt out."""
        return (self.french_plural or f"{self.french}s") if plural else self.french


@final
@dataclass(frozen=True)
class Adjective:
    """An adjective; `vowel` is its masculine before a vowel, as in `un vieil arbre`."""

    english: str
    french: str
    kinds: tuple[str, ...]
    feminine: str = ""
    plural: str = ""
    vowel: str = ""

    def agreeing(self, gender: Gender, plural: bool, before_vowel: bool) -> str:
        """The form that agrees: petit, petite, petits, petites."""
        if gender == "m" and not plural:
            return self.vowel if self.vowel and before_vowel else self.french
        if gender == "m":
            return self.plural or self.french + ("" if self.french[-1] in "sx" else "s")
        feminine = self.feminine or self.french + ("" if self.french[-1] == "e" else "e")
        return f"{feminine}s" if plural else feminine


@final
@dataclass(frozen=True)
class Verb:
    """A verb in the past; `objects` are the kinds it takes, `prepositions` what may follow instead."""

    past: str
    base: str
    participle: str
    objects: tuple[str, ...] = ()
    prepositions: tuple[str, ...] = ()
    with_etre: bool = False


NOUNS = (
    Noun("cat", "chat", "m", ("creature",)),
    Noun("dog", "chien", "m", ("creature",)),
    Noun("mouse", "souris", "f", ("creature", "edible"), "mice", "souris"),
    Noun("bird", "oiseau", "m", ("creature",), french_plural="oiseaux"),
    Noun("horse", "cheval", "m", ("creature",), french_plural="chevaux"),
    Noun("fox", "renard", "m", ("creature",), "foxes"),
    Noun("wolf", "loup", "m", ("creature",), "wolves"),
    Noun("owl", "hibou", "m", ("creature",), french_plural="hiboux"),
    Noun("hedgehog", "hérisson", "m", ("creature",)),
    Noun("elephant", "éléphant", "m", ("creature",)),
    Noun("turtle", "tortue", "f", ("creature",)),
    Noun("bee", "abeille", "f", ("creature",)),
    Noun("spider", "araignée", "f", ("creature",)),
    Noun("frog", "grenouille", "f", ("creature",)),
    Noun("rabbit", "lapin", "m", ("creature",)),
    Noun("fairy", "fée", "f", ("creature",), "fairies"),
    Noun("queen", "reine", "f", ("creature",)),
    Noun("king", "roi", "m", ("creature",)),
    Noun("witch", "sorcière", "f", ("creature",), "witches"),
    Noun("dragon", "dragon", "m", ("creature",)),
    Noun("apple", "pomme", "f", ("food", "edible")),
    Noun("cake", "gâteau", "m", ("food", "edible"), french_plural="gâteaux"),
    Noun("egg", "œuf", "m", ("food", "edible")),
    Noun("strawberry", "fraise", "f", ("food", "edible"), "strawberries"),
    Noun("flower", "fleur", "f", ("thing", "edible")),
    Noun("hat", "chapeau", "m", ("thing", "edible"), french_plural="chapeaux"),
    Noun("key", "clé", "f", ("thing",)),
    Noun("letter", "lettre", "f", ("thing",)),
    Noun("book", "livre", "m", ("thing",)),
    Noun("crown", "couronne", "f", ("thing",)),
    Noun("umbrella", "parapluie", "m", ("thing", "roof")),
    Noun("star", "étoile", "f", ("sky", "roof")),
    Noun("moon", "lune", "f", ("sky", "roof"), unique=True),
    Noun("tree", "arbre", "m", ("place", "roof", "landmark")),
    Noun("bridge", "pont", "m", ("place", "roof", "landmark")),
    Noun("house", "maison", "f", ("place", "inside", "landmark")),
    Noun("castle", "château", "m", ("place", "inside", "landmark"), french_plural="châteaux"),
    Noun("school", "école", "f", ("place", "inside", "landmark")),
    Noun("garden", "jardin", "m", ("place", "inside")),
    Noun("forest", "forêt", "f", ("place", "inside")),
)

_ANYTHING = ("creature", "food", "thing", "sky", "place")

# These stand before the noun in French too.
BEFORE = (
    Adjective("little", "petit", _ANYTHING),
    Adjective("big", "grand", ("creature", "place")),
    Adjective("beautiful", "beau", _ANYTHING, feminine="belle", plural="beaux", vowel="bel"),
    Adjective("old", "vieux", ("creature", "thing", "place"), feminine="vieille", vowel="vieil"),
    Adjective("young", "jeune", ("creature",)),
)
# These follow it; a colour may come together with one from before: le petit chat noir.
COLOURS = (
    Adjective("black", "noir", _ANYTHING),
    Adjective("white", "blanc", _ANYTHING, feminine="blanche"),
    Adjective("grey", "gris", _ANYTHING),
    Adjective("red", "rouge", _ANYTHING),
    Adjective("blue", "bleu", _ANYTHING),
    Adjective("green", "vert", _ANYTHING),
)
AFTER = (
    *COLOURS,
    Adjective("happy", "heureux", ("creature",), feminine="heureuse"),
    Adjective("curious", "curieux", ("creature",), feminine="curieuse"),
    Adjective("brave", "courageux", ("creature",), feminine="courageuse"),
    Adjective("sad", "triste", ("creature",)),
    Adjective("hungry", "affamé", ("creature",)),
    Adjective("golden", "doré", ("thing",)),
    Adjective("magic", "magique", ("thing",)),
    Adjective("delicious", "délicieux", ("food",), feminine="délicieuse"),
    Adjective("enchanted", "enchanté", ("place",)),
)

# The French for each preposition, and what kind of noun may follow.
PREPOSITIONS = {
    "in": ("dans", "inside"),
    "under": ("sous", "roof"),
    "behind": ("derrière", "landmark"),
    "near": ("près de", "landmark"),
    "with": ("avec", "creature"),
}

WITH_OBJECT = (
    Verb("ate", "eat", "mangé", ("edible",)),
    Verb("saw", "see", "vu", _ANYTHING),
    Verb("watched", "watch", "regardé", ("creature", "sky", "place")),
    Verb("painted", "paint", "peint", _ANYTHING),
    Verb("drew", "draw", "dessiné", _ANYTHING),
    Verb("found", "find", "trouvé", ("creature", "food", "thing", "place")),
    Verb("followed", "follow", "suivi", ("creature",)),
    Verb("chased", "chase", "poursuivi", ("creature",)),
    Verb("heard", "hear", "entendu", ("creature",)),
    Verb("woke", "wake", "réveillé", ("creature",)),
    Verb("greeted", "greet", "salué", ("creature",)),
    Verb("stole", "steal", "volé", ("food", "thing")),
    Verb("hid", "hide", "caché", ("food", "thing")),
    Verb("bought", "buy", "acheté", ("food", "thing")),
    Verb("forgot", "forget", "oublié", ("thing",)),
)

_ANYWHERE = ("in", "under", "behind", "near")

WITHOUT_OBJECT = (
    Verb("slept", "sleep", "dormi", prepositions=_ANYWHERE),
    Verb("sang", "sing", "chanté", prepositions=(*_ANYWHERE, "with")),
    Verb("danced", "dance", "dansé", prepositions=(*_ANYWHERE, "with")),
    Verb("waited", "wait", "attendu", prepositions=(*_ANYWHERE, "with")),
    Verb("laughed", "laugh", "ri", prepositions=("in", "with")),
    Verb("stayed", "stay", "resté", prepositions=(*_ANYWHERE, "with"), with_etre=True),
    Verb("fell", "fall", "tombé", prepositions=("in", "behind", "near"), with_etre=True),
    Verb("arrived", "arrive", "arrivé", prepositions=("with",), with_etre=True),
    Verb("left", "leave", "parti", prepositions=("with",), with_etre=True),
    Verb("went out", "go out", "sorti", with_etre=True),
    Verb("came back", "come back", "revenu", prepositions=("with",), with_etre=True),
)
