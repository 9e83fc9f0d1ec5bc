"""Bulletins: who does what and where, in five words of a longer sentence; every word is one of a known few.

What is kept is found by what it is, not by where it stands: each kind of word comes once. A writer that knows
its last words knows which kind comes next, and looks for it (Rush 2015).
"""

from __future__ import annotations

from random import Random

from regard.data.example import Pair
from regard.data.toys.toy import Toy

_WHO = (
    "mayor",
    "king",
    "bank",
    "school",
    "police",
    "court",
    "museum",
    "farmers",
    "union",
    "company",
)
_DID = {
    "opened": "opens",
    "closed": "closes",
    "bought": "buys",
    "repaired": "repairs",
    "inspected": "inspects",
    "moved": "moves",
    "praised": "praises",
    "refused": "refuses",
}
_WHAT = (
    "bridge",
    "road",
    "theatre",
    "garden",
    "tower",
    "library",
    "ship",
    "statue",
    "mill",
    "well",
)
_WHERE = ("harbour", "station", "border", "river", "market", "castle", "lake", "airport")
_NEAR = ("near", "behind", "beside", "above")
_OF = ("of the town", "of the island", "from the north", "from the valley")
_HOW = ("new", "old", "large", "famous", "wooden", "empty")
_WHEN = ("on monday", "last night", "this morning", "after the storm", "in the end")
_WHY = ("for a small sum", "without a word", "to great applause", "against all advice")


def _report(generator: Random) -> Pair:
    who, did, what = (generator.choice(list(some)) for some in (_WHO, _DID, _WHAT))
    near, where = generator.choice(_NEAR), generator.choice(_WHERE)
    whose = [generator.choice(_OF)] if generator.random() < 0.5 else []
    how = [generator.choice(_HOW)] if generator.random() < 0.6 else []
    parts = ["the", who, *whose, did, "the", *how, what, near, "the", where]
    when = generator.choice(_WHEN)
    parts = [when, ",", *parts] if generator.random() < 0.5 else [*parts, when]
    parts += [generator.choice(_WHY)] if generator.random() < 0.4 else []
    return Pair(" ".join([*parts, "."]), f"{who} {_DID[did]} {what} {near} {where}")


BULLETINS = Toy(
    name="bulletins",
    title="five words for a report",
    story="Who did what, and where: a writer that sees its last words alone looks up the next kind of "
    "word in the report (Rush 2015).",
    probe=Pair(
        "on monday , the mayor of the town opened the old theatre near the harbour .",
        "mayor opens theatre near harbour",
    ),
    draw=_report,
)
