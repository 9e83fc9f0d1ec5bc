"""The one search: for every task whose reader takes steps, group, encode, search, write out in input order.

A look asks the same search for one question, and keeps the tree that the answer grew in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import torch

from regard.decode import BeamTree, DecodeSettings, Hypothesis, Prefix, beam, search
from regard.decode.hypothesis import NO_LIMIT
from regard.errors import UsageError, nearest
from regard.models import SOURCE, Decoder, Model, Padded
from regard.tasks.batch import Group, crowds, groups, side_by_side
from regard.tasks.task import Prediction, Progress, Read, Task, Write, device_of
from regard.text import BEGIN, END, PAD, Codec

Symbols = Sequence[int | str]
Constrain = Callable[[Decoder[Any], Sequence[int]], Decoder[Any]]
EMPTY = Prediction("", 0.0)
CROWD = 128  # hypotheses


@final
@dataclass(frozen=True)
class Found:
    """An answer, how many of its symbols were given, its tree, and the most symbols it might have had."""

    answer: Prediction
    given: int = 0
    tree: BeamTree | None = None
    most: int = NO_LIMIT


def find(
    task: Task, model: Model, text: str, settings: DecodeSettings, prefix: Symbols = ()
) -> Found:
    """The answer to one question, its tree kept, behind symbols that are given."""
    if not task.searches:
        task.given(prefix, 0)
        return Found(task.predict(model, [text], settings)[0])
    source = task.encode(text)
    given = [*task.prompt(text), *task.given(prefix, length_of(source))]
    if prefix and given[-1] == task.end:
        ended = Hypothesis(tuple(given[:-1]), (), 0.0, "end")
        return Found(prediction([ended], task.writer(text)), len(given))
    if not length_of(source) and not task.reads_nothing:
        return Found(EMPTY)
    trees: list[BeamTree] | None = None if settings.sample else []
    prefixes = [given] if given else None
    (answer,) = generate(
        model,
        [source],
        settings,
        task.writer(text),
        tokens=1,
        prefixes=prefixes,
        trees=trees,
        constrain=lambda decoder, rows: task.constrained(decoder, [text for _ in rows]),
    )
    tree, most = trees[0] if trees else None, settings.max_length + len(given)
    return Found(task.completed(text, answer), len(given), tree, most)


@torch.inference_mode()
def generate(
    model: Model,
    sources: Sequence[Read],
    settings: DecodeSettings,
    write: Write | Sequence[Write],
    *,
    tokens: int,
    advance: Progress | None = None,
    prefixes: Sequence[Sequence[int]] | None = None,
    trees: list[BeamTree] | None = None,
    constrain: Constrain | None = None,
) -> list[Prediction]:
    """The best output of each source; `write` turns symbols into text and their names: one, or one a source.

    `trees`, where it is given, gets the tree of candidates behind each answer. `constrain` keeps the
    decoder to what can answer these sources, by their numbers.
    """
    model.eval()
    device = device_of(model)
    predictions: list[Prediction] = [EMPTY] * len(sources)
    for group in _grouped(model, [max(1, length_of(one)) for one in sources], tokens, settings):
        rows = [sources[number] for number in group.filled]
        encoded = model.encode(_read(rows, group.length, device))
        decoder = model.decoder
        if constrain is not None:
            decoder = constrain(decoder, group.filled)
        prefix = None
        if prefixes is not None:
            prefix = Prefix.of([prefixes[number] for number in group.filled], device)
        if trees is None:
            results = search(decoder, encoded, settings, prefix, group.filled)
        else:
            results, grown = beam(decoder, encoded, settings, prefix, tree=True)
            trees += (grown or [])[: len(group.members)]
        for number, hypotheses in zip(group.members, results, strict=False):
            predictions[number] = prediction(
                hypotheses, write if callable(write) else write[number]
            )
        if advance is not None:
            advance(len(group.members))
    return predictions


def _grouped(
    model: Model, lengths: Sequence[int], tokens: int, settings: DecodeSettings
) -> Iterator[Group]:
    """A lean decoder takes any number of rows, and gains nothing from more than a crowd."""
    if model.decoder.multiple > 1:
        return groups(lengths, tokens)
    return crowds(lengths, tokens, max(1, CROWD // settings.beam))


def given_of(codec: Codec, prefix: Symbols) -> list[int]:
    """Given symbols as ids of a vocabulary: an id, a piece by its name, or a word."""
    ids: list[int] = []
    for symbol in prefix:
        ids += [symbol] if isinstance(symbol, int) else _named(codec, symbol)
    for place, number in enumerate(ids):
        if not 0 <= number < codec.size or number in (PAD, BEGIN):
            name = prefix[place] if len(ids) == len(prefix) else number
            raise UsageError(
                f"no symbol {name!r} to begin with",
                where="prefix",
                remedy=f"give ids below {codec.size}, or the names of pieces",
            )
        if number == END and place < len(ids) - 1:
            raise UsageError(
                "nothing can follow the end symbol",
                where="prefix",
                remedy="leave out what stands behind it",
            )
    return ids


def _named(codec: Codec, name: str) -> list[int]:
    names = names_of(codec)
    if name in names:
        return [names[name]]
    if not name.strip():
        raise UsageError(
            "an empty symbol cannot be given", where="prefix", remedy="give a piece or a word"
        )
    ids = codec.encode(name)
    if codec.decode(ids).strip() != name.strip():
        raise UsageError(
            f"no symbol '{name[:60]}' to begin with", where="prefix", remedy=nearest(name, names)
        )
    return ids


@lru_cache(maxsize=8)
def names_of(codec: Codec) -> dict[str, int]:
    """Every piece by its name, worked out once a vocabulary; where two look alike, the first."""
    return {codec.piece(number): number for number in reversed(range(codec.size))}


def prediction(hypotheses: Sequence[Hypothesis], write: Write) -> Prediction:
    """The best hypothesis as an answer, the others as alternatives."""
    best = hypotheses[0]
    text, symbols = write(best.tokens)
    others = tuple((write(other.tokens)[0], other.score) for other in hypotheses)
    return Prediction(
        text, best.score, symbols, best.tokens, best.log_probabilities, best.finish, others
    )


def length_of(source: Read) -> int:
    """How long a source is; of several, the longest."""
    return max(map(len, source.values())) if isinstance(source, Mapping) else len(source)


def _read(rows: Sequence[Read], length: int, device: torch.device) -> dict[str, Padded]:
    """A batch of questions by the names of their sources; of several, each is as long as it must be."""
    first = rows[0]
    names = list(first) if isinstance(first, Mapping) else [SOURCE]
    sources = {}
    for name in names:
        own = [row[name] if isinstance(row, Mapping) else row for row in rows]
        most = length if len(names) == 1 else max(1, *map(len, own))
        lengths = torch.tensor([len(row) for row in own], device=device)
        sources[name] = Padded(side_by_side(own, most).values.to(device), lengths)
    return sources
