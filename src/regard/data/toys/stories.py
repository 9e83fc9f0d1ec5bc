"""Stories: a few sentences and a question whose answer is in them.

A language model that only knows which words are usual cannot answer; one that looks back can.
"""

from __future__ import annotations

from random import Random

from regard.data.example import Line
from regard.data.toys.toy import Toy

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


def _draw(generator: Random) -> Line:
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
    draw=_draw,
)
