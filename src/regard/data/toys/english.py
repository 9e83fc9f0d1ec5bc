"""Small English worlds, each made so that a word alone does not say enough: its neighbours must be asked.

`parts`: what is this word here? Tags are the universal ones (NOUN, VERB, ADJ, DET, PRON, AUX, ADP,
ADV). Nearly every word of the small lexicon has two or three of them, and the grammar sees to it
that a whole sentence has only one reading: `the light can water the plants` has a noun and an
auxiliary, `the light can waters the plants` an adjective and a noun.

`feelings`: praise or complaint? A negation turns a verdict into its opposite (`not bad at all` is
praise), and what came in the end outweighs what came at first.

`stories`: a few sentences and a question whose answer is in them. A language model that only knows
which words are usual cannot answer; one that looks back can.
"""

from __future__ import annotations

from random import Random

from regard.data.example import Labelled, Line, Tagged
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


def _tagged(generator: Random) -> Tagged:
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
    draw=_tagged,
)

_TOPICS = ("film", "book", "soup", "song", "trip", "game", "party", "play", "cake", "walk")
_OWNERS = ("the", "this", "our", "your")
_SPEAKERS = ("i", "we", "they", "my friends")
_DEGREES = ("", "", "very ", "really ", "so ")

# (good, bad) in each: which word of a pair is used decides the verdict before negation.
_ADJECTIVES = (
    *(("good", "bad"), ("great", "awful"), ("lovely", "horrible"), ("charming", "dull")),
    *(("wonderful", "terrible"), ("delightful", "boring"), ("brilliant", "dreadful")),
)
_VERBS = (  # as in `i loved it`, and as in `i did not love it`
    *((("loved", "hated"), ("love", "hate")), (("liked", "disliked"), ("like", "dislike"))),
    *((("enjoyed", "regretted"), ("enjoy", "regret")),),
)
_PLAIN = ("{degree}{adjective}",)
_TURNED = (
    *("not {degree}{adjective}", "not {adjective} at all", "never {adjective}"),
    *("far from {adjective}", "anything but {adjective}"),
)


def _verdict(generator: Random, good: bool) -> str:
    """`not bad at all`, `very good`: a verdict that is good or bad in the end."""
    turned = generator.random() < 0.5
    adjective = generator.choice(_ADJECTIVES)[good == turned]
    form = generator.choice(_TURNED if turned else _PLAIN)
    return form.format(degree=generator.choice(_DEGREES), adjective=adjective)


def _opinion(generator: Random, topic: str, good: bool) -> str:
    """`nobody liked the soup`: somebody's opinion that is good or bad in the end."""
    turned = generator.random() < 0.5
    past, base = generator.choice(_VERBS)
    side = good == turned
    if not turned:
        return f"{generator.choice((*_SPEAKERS, 'everybody'))} {past[side]} {topic}"
    if generator.random() < 0.4:
        return f"nobody {past[side]} {topic}"
    return f"{generator.choice(_SPEAKERS)} did not {base[side]} {topic}"


def _labelled(generator: Random) -> Labelled:
    good = generator.random() < 0.5
    topic = f"{generator.choice(_OWNERS)} {generator.choice(_TOPICS)}"
    match generator.randrange(4):
        case 0:
            text = _opinion(generator, topic, good)
        case 1:
            first, last = _verdict(generator, not good), _verdict(generator, good)
            text = f"at first {topic} was {first} but in the end it was {last}"
        case _:
            text = f"{topic} was {_verdict(generator, good)}"
    return Labelled(text, "positive" if good else "negative")


FEELINGS = Toy(
    name="feelings",
    title="praise or complaint",
    story="`Not bad at all` has a bad word in it and is praise: counting good and bad words fails, "
    "looking at what `not` belongs to does not.",
    probe=Labelled("at first the film was dull but in the end it was not bad at all", "positive"),
    draw=_labelled,
)

_PEOPLE = {"mia": "she", "tom": "he", "nora": "she", "max": "he", "zoe": "she", "leo": "he"}
_THINGS = ("key", "ball", "drum", "kite", "ring", "book", "bell", "coin")
_COLOURS = ("red", "blue", "green", "golden", "tiny", "shiny")
_PLACES = (
    *("in the garden", "under the bed", "behind the door", "on the roof"),
    *("near the river", "in the kitchen", "up the tree", "under the bridge"),
)
_GETTING = ("found", "had", "made", "bought")
_HIDING = ("hid", "left", "put")
_MEANWHILE = ("it was raining .", "a dog barked .", "the moon was bright .")


def _told(generator: Random) -> Line:
    """Two people hide two things; then someone asks after one of them."""
    people = generator.sample(tuple(_PEOPLE), 2)
    things = generator.sample(_THINGS, 2)
    places = generator.sample(_PLACES, 2)
    sentences = []
    for person, thing, place in zip(people, things, places, strict=True):
        getting, hiding = generator.choice(_GETTING), generator.choice(_HIDING)
        sentences.append(f"{person} {getting} a {generator.choice(_COLOURS)} {thing} .")
        sentences.append(f"{_PEOPLE[person]} {hiding} it {place} .")
    if generator.random() < 0.3:
        sentences.insert(2, generator.choice(_MEANWHILE))
    asked = generator.randrange(2)
    if generator.random() < 0.5:
        sentences.append(f"where is the {things[asked]} ? {places[asked]} .")
    else:
        sentences.append(f"whose is the {things[asked]} ? {people[asked]} knows .")
    return Line(" ".join(sentences))


STORIES = Toy(
    name="stories",
    title="tiny stories that end with a question",
    story="Any model learns how the sentences go; to answer the question it must look back to "
    "where the thing was hidden.",
    probe=Line(
        "mia found a golden key . she hid it under the bridge . tom had a red drum . "
        "he left it on the roof . where is the key ? under the bridge ."
    ),
    draw=_told,
)
