"""A small grammar: sentences with the trees that made them, where the words decide what belongs to what.

`of` and `with` belong to the noun before them, `near` and `in` to the verb; a clause behind `who` belongs to
a person, one behind `that` to what was said. So a tree cannot be read off the order of words alone.
"""

from __future__ import annotations

from random import Random

from regard.data.example import Parsed
from regard.data.toys.toy import Toy
from regard.text.trees import Tree, read_tree

_DETERMINERS = ("the", "a", "every", "this")
_ADJECTIVES = ("old", "small", "green", "quiet", "clever")
_PEOPLE = ("doctor", "sailor", "child", "baker", "singer", "judge")
_THINGS = ("boat", "house", "lamp", "letter", "garden", "song")
_NAMES = ("Mia", "Tom", "Ada", "Omar")
_SEES = ("saw", "found", "painted", "liked", "lost")
_RESTS = ("slept", "laughed", "waited", "sang")
_SAYS = ("said", "knew", "hoped", "thought")
_OF_NOUNS, _OF_VERBS = ("of", "with"), ("near", "in", "behind")
_DEEPEST = 2  # phrases of one kind in one another


def _word(tag: str, word: str) -> Tree:
    return Tree(tag, (word,))


def _noun_phrase(generator: Random, depth: int) -> Tree:
    if generator.random() < 0.25:
        return Tree("NP", (_word("NNP", generator.choice(_NAMES)),))
    is_person = generator.random() < 0.5
    noun = _word("NN", generator.choice(_PEOPLE if is_person else _THINGS))
    parts = [_word("DT", generator.choice(_DETERMINERS)), noun]
    if generator.random() < 0.3:
        parts.insert(1, _word("JJ", generator.choice(_ADJECTIVES)))
    whole, chance = Tree("NP", tuple(parts)), generator.random()
    if depth < _DEEPEST and chance < 0.3:
        return Tree("NP", (whole, _prepositional(generator, _OF_NOUNS, depth + 1)))
    if depth < _DEEPEST and chance < 0.5 and is_person:
        clause = Tree("S", (_verb_phrase(generator, depth + 1),))
        return Tree("NP", (whole, Tree("SBAR", (Tree("WHNP", (_word("WP", "who"),)), clause))))
    return whole


def _prepositional(generator: Random, words: tuple[str, ...], depth: int) -> Tree:
    return Tree("PP", (_word("IN", generator.choice(words)), _noun_phrase(generator, depth)))


def _verb_phrase(generator: Random, depth: int) -> Tree:
    chance, parts = generator.random(), list[Tree]()
    if chance < 0.3:
        parts = [_word("VBD", generator.choice(_RESTS))]
    elif chance < 0.8 or depth >= _DEEPEST:
        parts = [_word("VBD", generator.choice(_SEES)), _noun_phrase(generator, depth + 1)]
    else:
        clause = Tree("SBAR", (_word("IN", "that"), _sentence(generator, depth + 1)))
        return Tree("VP", (_word("VBD", generator.choice(_SAYS)), clause))
    if generator.random() < 0.35:
        parts.append(_prepositional(generator, _OF_VERBS, depth + 1))
    return Tree("VP", tuple(parts))


def _sentence(generator: Random, depth: int) -> Tree:
    return Tree("S", (_noun_phrase(generator, depth), _verb_phrase(generator, depth)))


def _parsed(generator: Random) -> Parsed:
    while True:
        made = _sentence(generator, 0)
        tree = Tree("S", (*made.children, _word(".", ".")))
        if len(tree.words) <= 16:
            return Parsed(tree.words, str(tree))


_PROBE = (
    "(S (NP (NP (DT the) (NN doctor)) (PP (IN with) (NP (DT a) (NN lamp)))) (VP (VBD found) "
    "(NP (NP (DT the) (NN child)) (SBAR (WHNP (WP who)) (S (VP (VBD slept))))) "
    "(PP (IN near) (NP (DT the) (NN boat)))) (. .))"
)

GRAMMAR = Toy(
    name="grammar",
    title="the tree over a sentence",
    story="Which words belong together is said as a row of brackets, and only trees can be said; "
    "of them all, attention finds the one that the words mean (Vinyals 2015).",
    probe=Parsed(read_tree(_PROBE).words, _PROBE),
    draw=_parsed,
)
