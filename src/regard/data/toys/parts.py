"""Parts of speech: what is this word here?

Tags are the universal ones (NOUN, VERB, ADJ, DET, PRON, AUX, ADP, ADV). Nearly every word of the
small lexicon has two or three of them, and the grammar sees to it that a whole sentence has only
one reading: `the light can water the plants` has a noun and an auxiliary, `the light can waters the
plants` an adjective and a noun.
"""

from __future__ import annotations

from random import Random

from regard.data.example import Tagged
from regard.data.toys.toy import Toy

# One word, and its form with an s: a plural noun, or a verb with one doer.
NOUNS = {
    **{"light": "lights", "watch": "watches", "plant": "plants", "cook": "cooks"},
    **{"paint": "paints", "guard": "guards", "judge": "judges", "guide": "guides"},
    **{"train": "trains", "work": "works", "run": "runs", "can": "cans"},
    **{"lamp": "lamps", "garden": "gardens", "king": "kings"},
}
WITH_OBJECT = {
    **{"light": "lights", "watch": "watches", "plant": "plants", "cook": "cooks"},
    **{"paint": "paints", "guard": "guards", "judge": "judges", "guide": "guides"},
    **{"train": "trains", "water": "waters", "clean": "cleans", "open": "opens"},
    **{"dry": "dries", "warm": "warms", "slow": "slows", "like": "likes", "see": "sees"},
}
WITHOUT_OBJECT = {"work": "works", "run": "runs", "cook": "cooks", "train": "trains"}
ADJECTIVES = (
    *("light", "clean", "open", "dry", "warm", "slow"),
    *("fast", "hard", "late", "early", "old", "small"),
)
ADVERBS = ("fast", "hard", "late", "early")
AUXILIARIES = ("can", "will", "must")
PREPOSITIONS = ("near", "behind", "under")
FOR_ONE, FOR_MANY = ("the", "this", "every"), ("the", "these", "some")
ONE, MANY = ("she", "he", "it"), ("we", "they", "you")

_Words = list[tuple[str, str]]


def _things(generator: Random, many: bool) -> _Words:
    noun = generator.choice(tuple(NOUNS))
    words = [(generator.choice(FOR_MANY if many else FOR_ONE), "DET")]
    if generator.random() < 0.4:
        words.append((generator.choice(ADJECTIVES), "ADJ"))
    return [*words, (NOUNS[noun] if many else noun, "NOUN")]


def _doing(generator: Random, verbs: dict[str, str], many: bool) -> _Words:
    verb = generator.choice(tuple(verbs))
    if generator.random() < 0.3:
        return [(generator.choice(AUXILIARIES), "AUX"), (verb, "VERB")]
    return [(verb if many else verbs[verb], "VERB")]


def _place(generator: Random, prepositions: tuple[str, ...]) -> _Words:
    return [
        (generator.choice(prepositions), "ADP"),
        *_things(generator, many=generator.random() < 0.3),
    ]


def _draw(generator: Random) -> Tagged:
    many, pronoun = generator.random() < 0.5, generator.random() < 0.4
    someone = [(generator.choice(MANY if many else ONE), "PRON")]
    words = someone if pronoun else _things(generator, many)
    if generator.random() < 0.6:
        words += _doing(generator, WITH_OBJECT, many)
        words += _things(generator, many=generator.random() < 0.5)
        words += _place(generator, PREPOSITIONS) if generator.random() < 0.2 else []
    else:
        words += _doing(generator, WITHOUT_OBJECT, many)
        # `the light works like the king` would have two readings; `it works like the king` has one.
        prepositions = (*PREPOSITIONS, "like") if pronoun else PREPOSITIONS
        here = generator.random() < 0.5
        words += _place(generator, prepositions) if here else [(generator.choice(ADVERBS), "ADV")]
    return Tagged(tuple(word for word, _ in words), tuple(tag for _, tag in words))


PARTS = Toy(
    name="parts",
    title="parts of speech, where most words have several",
    story="Is `light` a thing, something one does, or not heavy? Only its neighbours can tell, "
    "so watch which neighbours are asked.",
    probe=Tagged(
        ("they", "light", "the", "light", "near", "the", "light", "can"),
        ("PRON", "VERB", "DET", "NOUN", "ADP", "DET", "ADJ", "NOUN"),
    ),
    draw=_draw,
)
