"""The answer to look at: found by the run's own search, its tree kept, behind symbols that are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
import torch

from regard.data.example import Pointed
from regard.decode import BeamTree, DecodeSettings, Hypothesis, Prefix, beam, sample
from regard.errors import UsageError, nearest
from regard.models import Model
from regard.tasks import Classify, Language, Point, Prediction, Tag, Task, Translate
from regard.tasks.generate import Write, prediction
from regard.tasks.groups import groups
from regard.tasks.point import items_of
from regard.tasks.point import write as write_places
from regard.tasks.task import device_of
from regard.text import BEGIN, END, PAD, Codec

Symbols = Sequence[int | str]


@final
@dataclass(frozen=True)
class Found:
    """An answer, how many of its symbols were given, and the tree it grew in."""

    answer: Prediction
    given: int = 0
    tree: BeamTree | None = None


@torch.inference_mode()
def find(
    task: Task, model: Model, text: str, settings: DecodeSettings, prefix: Symbols = ()
) -> Found:
    """Search as prediction does, in a batch of the same shape, so that the answer is the same."""
    if isinstance(task, (Tag, Classify)):
        if prefix:
            raise UsageError(
                f"the {task.name} task says nothing step by step",
                where="prefix",
                remedy="leave the prefix out: only models that write can be given a beginning",
            )
        return Found(task.predict(model, [text], settings)[0])
    source, write, end = _parts(task, text)
    given = resolve(task, prefix, len(source))
    prompt = task.codec.encode(text) if isinstance(task, Language) else []
    if given and given[-1] == end:
        ended = Hypothesis((*prompt, *given[:-1]), (), 0.0, "end")
        return Found(prediction([ended], write), len(prompt) + len(given))
    if not len(source) and not isinstance(task, Language):
        return Found(Prediction(""))
    model.eval()
    (group,) = groups([max(1, len(source))], 1)
    rows = [{"source": source, "target": np.zeros(1, np.int32)}] * len(group.filled)
    batch = task.collate(rows, group.length, 1).to(device_of(model))
    lengths = torch.full((len(rows),), len(source), device=batch.source.device)
    encoded = model.encode(batch.source, lengths)
    forced = Prefix.of([[*prompt, *given]] * len(rows), batch.source.device)
    if settings.sample:
        hypotheses, trees = sample(model.decoder, encoded, settings, forced), None
    else:
        hypotheses, trees = beam(model.decoder, encoded, settings, forced, tree=True)
    answer = prediction(hypotheses[0], write)
    return Found(answer, len(prompt) + len(given), trees[0] if trees else None)


def resolve(task: Task, prefix: Symbols, places: int = 0) -> list[int]:
    """Given symbols as ids: an id, a piece by its name, or a word."""
    ids: list[int] = []
    for symbol in prefix:
        if isinstance(symbol, int):
            ids.append(symbol)
        elif isinstance(task, Point):
            ids.append(0 if symbol == "stop" else int(symbol) + 1 if symbol.isdecimal() else -1)
        else:
            ids += _named(_target(task), symbol)
    known, end = (places + 1, 0) if isinstance(task, Point) else (_target(task).size, END)
    banned = () if isinstance(task, Point) else (PAD, BEGIN)
    for place, number in enumerate(ids):
        if not 0 <= number < known or number in banned:
            raise UsageError(
                f"no symbol {prefix[place] if len(ids) == len(prefix) else number!r} to begin with",
                where="prefix",
                remedy=f"give ids below {known}, or the names of pieces",
            )
        if number == end and place < len(ids) - 1:
            raise UsageError(
                "nothing can follow the end symbol",
                where="prefix",
                remedy="let the end symbol be the last of the prefix",
            )
    if isinstance(task, Point) and len(set(ids)) < len(ids):
        raise UsageError(
            "no place is pointed at twice", where="prefix", remedy="name each position once"
        )
    return ids


def _named(codec: Codec, name: str) -> list[int]:
    names = names_of(codec)
    if name in names:
        return [names[name]]
    if not name.strip():
        raise UsageError(
            "an empty symbol cannot be given",
            where="prefix",
            remedy="give pieces or ids, or leave the prefix out",
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


def _target(task: Task) -> Codec:
    assert isinstance(task, (Translate, Language))
    return task.target if isinstance(task, Translate) else task.codec


def _parts(task: Task, text: str) -> tuple[np.ndarray, Write, int]:
    """What is read, how symbols are written, and the symbol that ends."""
    match task:
        case Translate():
            ids = task.source.encode(text)
            return np.array([*ids, END] if text.strip() else [], np.int32), task.write, END
        case Language():
            return np.empty(0, np.int32), task.write, END
        case Point():
            items = tuple(map(tuple, items_of(text)))
            return task.rows([Pointed(items, ())])[0]["source"], write_places, 0
        case _:
            raise NotImplementedError(type(task))
