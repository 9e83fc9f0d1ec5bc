"""Studies of a model that somebody brings: its heads, its word links, and the senses of a word in its states.

>>> from regard.interop.studied import look_of, senses_of
>>> look = look_of("folder/of/a/model")

Everything that studies heads and links asks for traces through one function, `look(text, target)`; senses
need the states behind each layer, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.answer.predictor import Predictor
from regard.answer.tracing import looker
from regard.errors import UsageError
from regard.interop.bring import Brought
from regard.run.find import is_brought
from regard.tasks.axis import Axis
from regard.traces.head_survey import Look, Steps
from regard.traces.senses import Occurrence, Senses, check_read, find, grouped, translated_by
from regard.traces.trace import Trace

Note = Callable[[str], None]
Texts = Mapping[str, Sequence[str]]


def look_of(model: str | Path, to: str | None = None, note: Note | None = None) -> Look:
    """`look(text, target)` of a run of ours, or of a folder of Hugging Face's."""
    if not is_brought(model):
        return looker(Predictor.load(model, "cpu", note=note, looking=True), to)
    refuse_language(to)
    return brought_look(Brought.open(model))


def brought_look(brought: Brought) -> Look:
    """The trace of a text; an answer is forced where there is one. A language model only reads."""

    def look(text: str, target: str) -> Trace:
        if brought.has_encoder:
            return brought.trace(text, answer=target or None, beam=1)
        return brought.trace(text, answer=target or None, most=0)

    return look


def refuse_language(to: str | None) -> None:
    """A folder says no languages by name."""
    if to is not None:
        raise UsageError("this folder says no languages", "--to", "write its tag in the text")


def sense_steps_of(
    brought: Brought, word: str, texts: Texts, *, groups: int | None = None, most: int = 200
) -> Steps[list[Senses]]:
    """The word in every sentence, with its state behind each layer from 0 on; one occurrence a step.

    Of a model with an encoder it is the encoder's states. A translator also says what the word became.
    """

    @lru_cache(4 * most)
    def axis_of(text: str) -> Axis:
        return brought.axis(text)

    check_read(word, axis_of(word))
    occurrences = find(word, texts, axis_of)[:most]
    table = brought.model.get_input_embeddings().weight  # type: ignore[operator]
    labelled, states, static = [], [], []
    for number, one in enumerate(occurrences):
        yield number, len(occurrences)
        pieces = [n for n, own in enumerate(axis_of(one.text).word_ids) if own == one.place]
        ids, layers = brought.layers(one.text)
        states.append([layer[pieces].mean(0) for layer in layers])
        static.append(table[ids[pieces]].detach().float().mean(0))
        labelled.append(replace(one, label=_translated(brought, one)))
    types = _plain(static)
    return [
        Senses(word, layer, tuple(labelled), own, types, grouped(own, groups or max(2, len(texts))))
        for layer, own in enumerate(_plain(some) for some in zip(*states, strict=True))
    ]


def _plain(some: Sequence[torch.Tensor]) -> Any:
    return np.asarray(torch.stack(list(some)).float().cpu().numpy())


def _translated(brought: Brought, one: Occurrence) -> str:
    if not brought.has_encoder:
        return ""
    return translated_by(brought.trace(one.text, beam=1), one.place)
