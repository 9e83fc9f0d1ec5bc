"""Phrases: small English sentences and their French, made together by one grammar.

`the black cat ate the mouse` is `le chat noir a mangé la souris`. What has to be learned: most
adjectives move behind the noun, articles and adjectives agree with it, `ate` becomes two words and
`did not` embraces one of them (`n'a pas mangé`), le and la lose their vowel before another
(`l'oiseau`, but `le hibou`), and a few verbs take être and then agree with who did it
(`la reine est partie`). Text is in lower case, without a full stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Literal, final

from regard.data.example import Line, Pair
from regard.data.toys.lexicon import (
    AFTER,
    BEFORE,
    COLOURS,
    NOUNS,
    PREPOSITIONS,
    WITH_OBJECT,
    WITHOUT_OBJECT,
    Adjective,
    Gender,
    Noun,
    Verb,
)
from regard.data.toys.toy import Toy

Article = Literal["the", "a", "this", "my", "two"]


@final
@dataclass(frozen=True)
class Phrase:
    """A noun with all that belongs to it, in both languages: `my old tree`, `mon vieil arbre`."""

    noun: Noun
    article: Article
    plural: bool = False
    before: Adjective | None = None
    after: Adjective | None = None

    def english(self) -> str:
        """Article, adjectives, noun."""
        adjectives = [one.english for one in (self.before, self.after) if one]
        words = [*adjectives, self.noun.in_english(self.plural)]
        article: str = self.article
        if article == "a" and words[0][0] in "aeiou":
            article = "an"
        elif article == "this" and self.plural:
            article = "these"
        return " ".join([article, *words])

    def french(self, denied: bool = False) -> str:
        """Article, one adjective, noun, the other adjective; `denied` turns `un` into `de`."""
        gender, plural = self.noun.gender, self.plural
        words = self.noun.in_french(plural)
        if self.before:
            vowel = begins_with_vowel(words)
            words = f"{self.before.agreeing(gender, plural, before_vowel=vowel)} {words}"
        if self.after:
            words = f"{words} {self.after.agreeing(gender, plural, before_vowel=False)}"
        if denied and self.article == "a":
            return elided("de", words)
        vowel = begins_with_vowel(words)
        return elided(french_article(self.article, gender, plural, vowel), words)


def begins_with_vowel(word: str) -> bool:
    """Whether le becomes l' before it. Every h of the lexicon is aspirate: le hibou."""
    return word[0] in "aeiouéèêœ"


def elided(small: str, rest: str) -> str:
    """`la` and `étoile` as `l'étoile`, `de` and `un arbre` as `d'un arbre`."""
    if small in ("le", "la", "de", "ne") and begins_with_vowel(rest):
        return f"{small[:-1]}'{rest}"
    return f"{small} {rest}"


def french_article(article: Article, gender: Gender, plural: bool, vowel: bool) -> str:
    """The article that agrees with what follows; `elided` then joins it."""
    match article, plural:
        case "the", True:
            return "les"
        case "the", False:
            return "le" if gender == "m" else "la"
        case "this", True:
            return "ces"
        case "this", False:
            return "cette" if gender == "f" else "cet" if vowel else "ce"
        case "my", True:
            return "mes"
        case "my", False:
            return "ma" if gender == "f" and not vowel else "mon"
        case "two", _:
            return "deux"
        case _:
            return "un" if gender == "m" else "une"


def past(verb: Verb, subject: Phrase, denied: bool) -> str:
    """The passé composé: a mangé, n'a pas mangé, sont parties."""
    plural, feminine = subject.plural, subject.noun.gender == "f"
    if verb.with_etre:
        auxiliary = "sont" if plural else "est"
        participle = verb.participle + "e" * feminine + "s" * plural
    else:
        auxiliary, participle = "ont" if plural else "a", verb.participle
    return f"{elided('ne', auxiliary)} pas {participle}" if denied else f"{auxiliary} {participle}"


def placed(preposition: str, phrase: Phrase) -> str:
    """`dans le jardin`; de and le melt into du, de and les into des: `près du château`."""
    small = PREPOSITIONS[preposition][0]
    french = phrase.french()
    if small != "près de":
        return f"{small} {french}"
    for article, melted in (("le ", "du "), ("les ", "des ")):
        if french.startswith(article):
            return f"près {melted}{french.removeprefix(article)}"
    return f"près {elided('de', french)}"


def sentence(
    subject: Phrase,
    verb: Verb,
    denied: bool,
    thing: Phrase | None,
    place: tuple[str, Phrase] | None,
) -> Pair:
    """The whole in both languages: someone did, or did not, something to a thing or at a place."""
    english = [subject.english(), f"did not {verb.base}" if denied else verb.past]
    french = [subject.french(), past(verb, subject, denied)]
    if thing:
        english.append(thing.english())
        french.append(thing.french(denied))
    if place:
        preposition, phrase = place
        english += [preposition, phrase.english()]
        french.append(placed(preposition, phrase))
    return Pair(" ".join(english), " ".join(french))


@cache
def _nouns(kinds: tuple[str, ...]) -> tuple[Noun, ...]:
    return tuple(noun for noun in NOUNS if set(noun.kinds) & set(kinds))


@cache
def _suiting(noun: Noun) -> dict[str, list[Adjective]]:
    choices = {"before": BEFORE, "after": AFTER, "colour": COLOURS}
    return {
        place: [one for one in adjectives if set(one.kinds) & set(noun.kinds)]
        for place, adjectives in choices.items()
    }


def _phrase(generator: Random, kinds: tuple[str, ...], other_than: Noun | None = None) -> Phrase:
    noun = generator.choice([one for one in _nouns(kinds) if one is not other_than])
    before, after = _adjectives(generator, noun)
    if noun.unique:
        return Phrase(noun, "the", before=before, after=after)
    plural = generator.random() < 0.3
    articles: tuple[Article, ...] = (
        ("the", "this", "my", "two") if plural else ("the", "a", "this", "my")
    )
    article = generator.choices(articles, weights=(5, 2, 2, 2))[0]
    return Phrase(noun, article, plural, before, after)


def _adjectives(generator: Random, noun: Noun) -> tuple[Adjective | None, Adjective | None]:
    suiting = _suiting(noun)
    before = generator.choice(suiting["before"]) if generator.random() < 0.3 else None
    # After `little` English puts a colour, and not just any word, before the noun.
    after = suiting["colour" if before else "after"]
    return before, generator.choice(after) if generator.random() < 0.3 else None


def _draw(generator: Random) -> Pair:
    subject = _phrase(generator, ("creature",))
    denied = generator.random() < 0.2
    if generator.random() < 0.65:
        verb = generator.choice(WITH_OBJECT)
        thing = _phrase(generator, verb.objects, other_than=subject.noun)
        return sentence(subject, verb, denied, thing, None)
    verb = generator.choice(WITHOUT_OBJECT)
    if not verb.prepositions or generator.random() < 0.3:
        return sentence(subject, verb, denied, None, None)
    preposition = generator.choice(verb.prepositions)
    phrase = _phrase(generator, (PREPOSITIONS[preposition][1],), other_than=subject.noun)
    return sentence(subject, verb, denied, None, (preposition, phrase))


PHRASES = Toy(
    name="phrases",
    title="small English sentences -> French",
    story="Black steps behind the cat, and `ate` is held over two words: attention is not always "
    "a straight line.",
    probe=Pair("the black cat ate the mouse", "le chat noir a mangé la souris"),
    draw=_draw,
)


def _english(generator: Random) -> Line:
    return Line(_draw(generator).source)


SENTENCES = Toy(
    name="sentences",
    title="small English sentences, to be said again",
    story="An autoencoder reads a sentence and says it again. Without attention all of it must fit into one "
    "state; with some of its words dropped or moved, the state must say what they were.",
    probe=Line("the black cat ate the mouse"),
    draw=_english,
)
