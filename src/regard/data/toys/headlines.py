"""Headlines: what happened in a few words, with names and numbers that nobody has ever seen before.

The verb changes its form and much is left out, so a writer must generate; but people, towns and numbers are
made anew for each example, and no vocabulary holds them: they can only be copied from where they stand.
"""

from __future__ import annotations

from random import Random

from regard.data.example import Pair
from regard.data.toys.toy import Toy

_BEGIN = ("b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "st", "kr")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ei")
_END = ("n", "r", "l", "s", "k", "m", "x", "nd", "")
_DAYS = ("Monday", "Tuesday", "Thursday", "Friday", "Sunday")
_JOBS = ("baker", "doctor", "farmer", "painter", "pilot", "student", "teacher")
_VERBS = {
    "sold": "sells",
    "found": "finds",
    "lost": "loses",
    "bought": "buys",
    "counted": "counts",
    "painted": "paints",
    "repaired": "repairs",
}
_THINGS = ("apples", "bricks", "coins", "lamps", "roses", "shells", "stamps", "violins")
_WHERE = ("near the river", "in the old market", "behind the station", "on the hill", "at home")
_WHY = ("for a bet", "after the storm", "to help a friend", "before breakfast")


def made_up(generator: Random) -> str:
    """A name of three or four syllables: millions of them, so that one is hardly ever met twice."""
    count = generator.randint(3, 4)
    parts = [generator.choice(_BEGIN) + generator.choice(_VOWELS) for _ in range(count)]
    return ("".join(parts) + generator.choice(_END)).capitalize()


def _story(generator: Random) -> Pair:
    person, town = made_up(generator), made_up(generator)
    number, age = generator.randint(1_000, 99_999), generator.randint(20, 79)
    did, thing = generator.choice(list(_VERBS)), generator.choice(_THINGS)
    who = generator.choice(
        (
            f"{person} , a {generator.choice(_JOBS)} from {town} ,",
            f"{person} of {town}",
            f"a {generator.choice(_JOBS)} called {person} , {age} , from {town}",
        )
    )
    parts = [who, did, str(number), thing]
    parts += [generator.choice(_WHERE)] if generator.random() < 0.6 else []
    parts += [generator.choice(_WHY)] if generator.random() < 0.4 else []
    day = f"on {generator.choice(_DAYS)}"
    parts = [day, *parts] if generator.random() < 0.5 else [*parts, day]
    return Pair(" ".join([*parts, "."]), f"{person} of {town} {_VERBS[did]} {number} {thing}")


HEADLINES = Toy(
    name="headlines",
    title="a headline for a story",
    story="People, towns and numbers are new in every story, and no vocabulary holds them: what cannot be "
    "generated is copied from where it stands (See 2017).",
    probe=Pair(
        "on Friday Mirakolu , a painter from Zestovan , sold 48213 violins near the river .",
        "Mirakolu of Zestovan sells 48213 violins",
    ),
    draw=_story,
)
