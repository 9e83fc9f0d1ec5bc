"""Witnesses: two people heard the same sentence, and each of them missed some of its words.

Every word was heard by at least one of the two, so only together do they know the sentence. A reader must
believe the first for one word and the second for another: the share of attention that each source has, word
by word, can be checked against who heard what.
"""

from __future__ import annotations

from random import Random

from regard.data.example import Several
from regard.data.toys.toy import Toy
from regard.question import Question

MISSED = "..."
WHO = ("the king", "a judge", "the cook", "an old guard", "the small child", "my sister", "a guide")
DID = ("saw", "painted", "followed", "heard", "lost", "opened", "cleaned")
WHAT = (
    "a red boat",
    "the garden",
    "two black cats",
    "the heavy door",
    "an open book",
    "some lamps",
)
WHERE = ("near the river", "behind the house", "in the market", "under the bridge", "on the hill")
WHEN = ("today", "last night", "at noon", "before the storm", "yesterday")


def _sentence(generator: Random) -> list[str]:
    parts = [generator.choice(some) for some in (WHO, DID, WHAT)]
    parts += [generator.choice(WHERE)] if generator.random() < 0.6 else []
    parts += [generator.choice(WHEN)] if generator.random() < 0.6 else []
    return " ".join(parts).split()


def heard(words: list[str], generator: Random) -> tuple[str, str]:
    """What each of two witnesses can repeat: a word that one of them missed, the other heard."""
    first, second = list(words), list(words)
    for place in range(len(words)):
        draw = generator.random()
        if draw < 0.4:
            first[place] = MISSED
        elif draw < 0.8:
            second[place] = MISSED
    return " ".join(first), " ".join(second)


def _draw(generator: Random) -> Several:
    words = _sentence(generator)
    first, second = heard(words, generator)
    return Several(Question({"anna": first, "ben": second}), " ".join(words))


WITNESSES = Toy(
    name="witnesses",
    title="Two witnesses",
    story="Two people heard the same sentence, and each missed some words of it: only both together know.",
    probe=Several(
        Question(
            {
                "anna": "the king ... a ... boat near the ...",
                "ben": "... king saw ... red boat ... ... river",
            }
        ),
        "the king saw a red boat near the river",
    ),
    draw=_draw,
)
