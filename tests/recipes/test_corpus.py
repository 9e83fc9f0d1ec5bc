"""Training lines: both directions, tagged; what is hidden on one side is hidden on the other."""

import random
import re

import pytest
from corpus import KEEPS, TAGS, Recipe, directed, directions, joined, often, varied
from hypothesis import given
from hypothesis import strategies as st
from phrases import nodes

ALWAYS = Recipe(placeholders=1.0, names=0.0, strangers=0.0)
NAMES = Recipe(placeholders=0.0, names=1.0, strangers=0.0)
STRANGERS = Recipe(placeholders=0.0, names=0.0, strangers=1.0)
NEVER = Recipe(joined=0.0, placeholders=0.0, names=0.0, strangers=0.0, apostrophes=0.0)
words = st.lists(st.sampled_from(["a", "%s", "{0}", "<b>", "12", "Tom", "www.x.org"]), min_size=1)


def test_a_pair_goes_both_ways():
    found = list(directions("The cat.", "Die Katze.", "de", NEVER, random.Random(1)))
    assert found == [(">>de<< The cat.", "Die Katze."), (">>en<< Die Katze.", "The cat.")]


def test_a_directed_pair_goes_one_way():
    found = directed("fr", "It\u2019s me.", "C\u2019est moi.", NEVER, random.Random(1))
    assert found == (">>fr<< It\u2019s me.", "C'est moi.")


def test_half_a_time_is_every_other_pair():
    dice = random.Random(1)
    counts = [often("pydocs", NEVER, dice) for _ in range(2000)]
    assert set(counts) == {0, 1}
    assert 900 < sum(counts) < 1100
    assert often("wmt-newstest2019", Recipe(first=True), dice) == 0
    assert often("tatoeba", Recipe(first=True), dice) == 2
    assert often("wmt-newstest2019", NEVER, dice) == 6
    assert often("europarl", Recipe(evenly=True), dice) == 1


def test_symbols_are_numbered_as_the_source_has_them():
    pair = "Copy %1$s to %2$s", "Nach %2$s wird %1$s kopiert"
    assert varied(*pair, ALWAYS, random.Random(1)) == (
        "Copy <keep0> to <keep1>",
        "Nach <keep1> wird <keep0> kopiert",
    )
    assert varied(*reversed(pair), ALWAYS, random.Random(1)) == (
        "Nach <keep0> wird <keep1> kopiert",
        "Copy <keep1> to <keep0>",
    )


@pytest.mark.parametrize(
    "pair",
    [
        ("Open %s", "Öffne %d"),  # not the same
        ("%s %s %s %s %s", "%s %s %s %s %s"),  # more than there are symbols
        ("No marks", "Keine Zeichen"),
        ("A <keep0> typed %s", "Ein <keep0> getippt %s"),
    ],
)
def test_pairs_that_stay_as_they_are(pair):
    assert varied(*pair, ALWAYS, random.Random(1)) == pair


def test_a_name_that_both_sides_have_once():
    source, target = varied(
        "He met Boston today.", "Er traf Boston heute.", NAMES, random.Random(1)
    )
    assert re.fullmatch(r"He met <keep\d> today\.", source)
    assert target == f"Er traf {source[7:14]} heute."
    twice = "In Rom we saw Rom", "In Rom sahen wir Rom"
    assert "Rom" in varied(*twice, NAMES, random.Random(1))[0]


def test_a_stranger_stands_at_the_same_end():
    for seed in range(9):
        source, target = varied("The cat", "Die Katze", STRANGERS, random.Random(seed))
        assert [source.startswith(keep) for keep in KEEPS] == [
            target.startswith(keep) for keep in KEEPS
        ]
        assert [source.endswith(keep) for keep in KEEPS] == [
            target.endswith(keep) for keep in KEEPS
        ]
        assert sum(keep in source for keep in KEEPS) == 1


@given(words, words, st.integers(0, 99))
def test_both_sides_have_the_same_symbols(source, target, seed):
    recipe = Recipe(placeholders=0.5, names=0.3, strangers=0.3)
    found = list(directions(" ".join(source), " ".join(target), "fr", recipe, random.Random(seed)))
    for one, other in found:
        assert one.startswith(TAGS)
        for keep in KEEPS:
            assert one.count(keep) == other.count(keep)


def test_one_apostrophe_is_said_and_both_are_read():
    pair = "I don’t know ‘it’.", "Je n’sais pas l'heure."
    plain = [("de", NEVER), ("de", Recipe(apostrophes=1.0, names=0.0, strangers=0.0))]
    here, there = (list(directions(*pair, name, one, random.Random(1))) for name, one in plain)
    assert here[0] == (">>de<< I don’t know ‘it’.", "Je n'sais pas l'heure.")
    assert here[1] == (">>en<< Je n’sais pas l'heure.", "I don't know ‘it’.")
    assert there[0][0] == ">>de<< I don't know ‘it’."
    assert next(directions("don't", "x", "de", plain[1][1], random.Random(1)))[0] == ">>de<< don’t"


def test_joined_lines_lose_nothing():
    pairs = [(f"One {n}.", f"Eins {n}.") for n in range(50)]
    found = list(joined(pairs, Recipe(joined=0.5), random.Random(3)))
    assert len(found) < len(pairs)
    for side in (0, 1):
        assert " ".join(pair[side] for pair in found) == " ".join(pair[side] for pair in pairs)


def test_phrases_of_a_tree():
    tree = "(4 (2 (2 It) (2 's)) (3 (3 (2 a) (3 joy)) (2 ,)))"
    found = list(nodes(tree))
    assert found[-1] == ("4", "It's a joy,")
    assert ("3", "joy") in found
    assert len(found) == 9
