"""Sentences to study a model with, and what its heads do over all of them.

The one idea: everything here asks a model for traces through one function, `look(text, target)`, so that it
is the same for our models and for those of others.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar, cast, final

import numpy as np

from regard.data.formats.conll import trees
from regard.data.lines import bare_name, read_lines
from regard.data.source import understand
from regard.errors import DataError, UsageError
from regard.evaluate.error_rate import Links, links
from regard.question import Question
from regard.tasks.axis import Axis
from regard.traces.head_roles import (
    Arc,
    Facts,
    Head,
    Tally,
    is_special,
    named,
    random_weights,
)
from regard.traces.trace import Trace

Look = Callable[[str, str], Trace]  # a text, and the answer to force ("" to let the model answer)
T = TypeVar("T")
Steps = Generator[tuple[int, int], None, T]  # how many are done, of how many; then the result

PROBES, PROBE_WORDS = 24, 10
REPEATED = ("duplicate", "induction")  # measured on random words said twice (Olsson 2022)


@final
@dataclass(frozen=True)
class Sentence:
    """A question by its words, with whatever is known about it: translation, dependency tree, word links.

    A picture or a sound has no words. Those of several sources stand one source behind the other.
    """

    text: str  # a `Question`, where there are several sources
    words: tuple[str, ...]
    target: str = ""
    tree: tuple[Arc, ...] = ()  # between `words`
    links: Links | None = None  # between `words` and the words of the target

    @classmethod
    def of(cls, text: str, target: str = "") -> Sentence:
        """A text as it stands, cut at its spaces; of several sources, each that is a text."""
        if not isinstance(text, Question):
            return cls(text, tuple(text.split()), target)
        texts = [one for one in text.sources.values() if isinstance(one, str)]
        return cls(text, tuple(word for one in texts for word in one.split()), target)

    @property
    def length(self) -> int:
        """The words of its longest source."""
        if not isinstance(self.text, Question):
            return len(self.words)
        texts = (one for one in self.text.sources.values() if isinstance(one, str))
        return max((len(one.split()) for one in texts), default=0)

    def reworded(self, change: Callable[[list[str]], Sequence[str]]) -> Sentence:
        """The same question, the words of each text changed; what is known about them is known no more."""
        assert isinstance(self.text, Question)
        sources = {
            name: " ".join(change(one.split())) if isinstance(one, str) else one
            for name, one in self.text.sources.items()
        }
        return Sentence.of(Question(sources), self.target)

    def shuffled(self, generator: np.random.Generator) -> Sentence | None:
        """The same words in a random order, the tree behind them; None where there are no words."""
        if not self.words:
            return None
        if isinstance(self.text, Question):
            return self.reworded(lambda words: generator.permutation(words).tolist())
        order = generator.permutation(len(self.words)).tolist()
        place = {old: new for new, old in enumerate(order)}
        words = tuple(self.words[old] for old in order)
        tree = tuple(
            replace(arc, dependent=place[arc.dependent], head=place[arc.head]) for arc in self.tree
        )
        return Sentence(" ".join(words), words, self.target, tree)


def read(
    paths: Sequence[Path], gold: Path | None = None, most: int | None = None
) -> list[Sentence]:
    """Sentences of any file that `regard data` knows: text, pairs, tagged words, trees (CoNLL-U).

    `gold` holds a line of links for each pair, in Pharaoh's notation from 0.
    """
    if len(paths) == 1 and bare_name(paths[0]).endswith(".conllu"):
        sentences = [
            Sentence(text, words, tree=tuple(Arc(*arc) for arc in arcs))
            for text, words, arcs in islice(trees(paths[0]), most)
        ]
    else:
        examples = understand(paths).examples()
        sentences = [Sentence.of(one.asked, one.answer) for one in islice(examples, most)]
    if not sentences:
        where = ", ".join(map(str, paths))
        raise DataError("there is no sentence here", where, "give a file with a sentence a line")
    if gold is None:
        return sentences
    lines = [line.text for line in read_lines(gold)]
    if len(lines) < len(sentences):
        raise DataError(
            f"{len(lines)} lines of links do not suffice for {len(sentences)} pairs",
            where=str(gold),
            remedy="give a line of links for each pair",
        )
    return [
        replace(one, links=links(line, f"{gold}, line {number}"))
        for number, (one, line) in enumerate(zip(sentences, lines, strict=False), start=1)
    ]


def matched(words: Sequence[str], axis: Axis) -> list[int] | None:
    """For each word the number of the axis's word that it begins in; None where the texts differ.

    Both are the same letters cut differently: `do` `n't` and `don't`.
    """
    owner: list[int] = []
    letters = ""
    for number, word in enumerate(axis.words):
        bare = "" if is_special(word) else word.replace("▁", "").replace(" ", "")
        letters += bare
        owner += [number] * len(bare)
    wanted = [word.replace(" ", "") for word in words]
    if letters.casefold() != "".join(wanted).casefold() or not all(wanted):
        return None
    starts = np.cumsum([0, *map(len, wanted[:-1])])
    return [owner[start] for start in starts.tolist()] if len(owner) == len(letters) else None


def facts_of(sentence: Sentence, trace: Trace) -> Facts:
    """What is known about a sentence, in the words of its trace; nothing, where they cannot be matched."""
    if isinstance(sentence.text, Question):
        return Facts()
    axis = next((name for name in ("source", "inputs", *trace.axes) if name in trace.axes), "")
    place = matched(sentence.words, trace.axes[axis]) if axis else None
    if place is None:
        return Facts()
    arcs = tuple(
        Arc(place[arc.dependent], place[arc.head], arc.relation)
        for arc in sentence.tree
        if place[arc.dependent] != place[arc.head]
    )
    return Facts(axis, arcs, _moved(sentence, trace, place))


def _moved(sentence: Sentence, trace: Trace, place: Sequence[int]) -> Links | None:
    """The links between the words of the axes."""
    if sentence.links is None or "target" not in trace.axes:
        return None
    there = matched(sentence.target.split(), trace.axes["target"])
    if there is None:
        return None
    sure, possible = (
        frozenset((place[source], there[target]) for source, target in some)
        for some in (sentence.links.sure, sentence.links.possible)
    )
    return Links(sure, possible)


def survey(
    look: Look,
    sentences: Sequence[Sentence],
    counts: Mapping[str, int] | None = None,
    *,
    seed: int = 0,
) -> list[Head]:
    """What every head does over these sentences, with its two controls.

    `counts` says how often each token stands in a larger text; without it, the sentences are counted.
    """
    return finished(surveying(look, sentences, counts, seed=seed))


def finished(steps: Steps[T]) -> T:
    """What work that is done step by step comes to."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast("T", end.value)


def surveying(
    look: Look,
    sentences: Sequence[Sentence],
    counts: Mapping[str, int] | None = None,
    *,
    seed: int = 0,
) -> Steps[list[Head]]:
    """The same, one text a step; each says how many have been looked at, and how many there are."""
    steps = ((done, 2 * len(sentences) + PROBES) for done in itertools.count(1))
    generator = np.random.default_rng(seed)
    own = []
    for sentence in sentences:
        own.append(look(sentence.text, sentence.target))
        _check_heads(own[-1])
        yield next(steps)
    sentences = [
        replace(sentence, target=sentence.target or _said(trace))
        for sentence, trace in zip(sentences, own, strict=True)
    ]
    if counts is None:
        counts = Counter(
            piece for trace in own for axis in trace.axes.values() for piece in axis.pieces
        )
    real, random, mixed = (Tally(counts) for _ in range(3))
    for number, (sentence, trace) in enumerate(zip(sentences, own, strict=True)):
        facts = facts_of(sentence, trace)
        real.add(trace, facts)
        random.add(random_weights(trace, seed + number), facts)
        other = sentence.shuffled(generator)
        if other is not None:
            again = look(other.text, other.target)
            mixed.add(again, facts_of(other, again))
        yield next(steps)
    probe, chance = yield from _probed(look, probes(sentences, generator), seed, steps)
    heads, lucky = _repeated(real.heads(), probe.heads()), _repeated(random.heads(), chance.heads())
    return named(heads, lucky, mixed.heads())


def _probed(
    look: Look, texts: Iterable[tuple[str, str]], seed: int, steps: Iterator[tuple[int, int]]
) -> Steps[tuple[Tally, Tally]]:
    """What heads do with texts that repeat themselves, and what random weights do."""
    probe, chance = Tally(), Tally()
    for number, (text, target) in enumerate(texts):
        with suppress(UsageError):  # longer than this model can read: repetition is not measured
            trace = look(text, target)
            probe.add(trace)
            chance.add(random_weights(trace, seed + number))
        yield next(steps)
    return probe, chance


def _check_heads(trace: Trace) -> None:
    if not trace.sites:
        raise UsageError(
            "this model has no attention heads",
            where="model",
            remedy="take a Transformer, a decoder that attends to its source, or attention pooling",
        )


def _said(trace: Trace) -> str:
    """The answer to force once more, where a source is read to give it."""
    return trace.answer.text if any(site.kind in ("cross", "rnn") for site in trace.sites) else ""


def probes(
    sentences: Sequence[Sentence], generator: np.random.Generator
) -> Iterator[tuple[str, str]]:
    """Random words said twice, as text and as the answer to it; a picture stays what it is."""
    sides = [
        sorted({word for one in sentences for word in one.words}),
        sorted({word for one in sentences for word in one.target.split()}),
    ]

    def twice(words: Sequence[str]) -> list[str]:
        count = min(PROBE_WORDS, len(words))
        drawn = generator.choice(words, count, replace=False).tolist() if words else []
        return [*drawn, *drawn]

    for number in range(PROBES):
        one = sentences[number % len(sentences)]
        if isinstance(one.text, Question):
            text = one.reworded(lambda _: twice(sides[0])).text
        else:
            text = " ".join(twice(sides[0])) if one.words else one.text
        yield text, " ".join(twice(sides[1]))


def _repeated(heads: Sequence[Head], probe: Sequence[Head]) -> list[Head]:
    """The measures that need repetition, from texts that repeat."""
    known = {(head.path, head.head): head for head in probe}
    repeated = []
    for head in heads:
        other = known.get((head.path, head.head), head)
        measures = {**head.measures, **{name: other.measures[name] for name in REPEATED}}
        counts = {**head.counts, **{name: other.counts.get(name, 0) for name in REPEATED}}
        repeated.append(replace(head, measures=measures, counts=counts))
    return repeated
