"""Feelings: is this said with pleasure or not, when a small word can turn it around?

The rule: a negation turns a verdict into its opposite (`not bad at all` is praise), and what came
in the end outweighs what came at first.
"""

from __future__ import annotations

from random import Random

from regard.data.example import Labelled
from regard.data.toys.toy import Toy

_TOPICS = ("film", "book", "soup", "song", "trip", "game", "party", "play", "cake", "walk")
_OWNERS = ("the", "this", "our", "your")
_PEOPLE = ("i", "we", "they", "my friends")
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
        return f"{generator.choice((*_PEOPLE, 'everybody'))} {past[side]} {topic}"
    if generator.random() < 0.4:
        return f"nobody {past[side]} {topic}"
    return f"{generator.choice(_PEOPLE)} did not {base[side]} {topic}"


def _draw(generator: Random) -> Labelled:
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
    draw=_draw,
)
