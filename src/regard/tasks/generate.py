"""Prediction for every task whose reader takes steps: group, encode, search, write out in input order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from regard.decode import DecodeSettings, Hypothesis, Prefix, search
from regard.models import Model
from regard.tasks.batch import framed, padded
from regard.tasks.groups import Group, crowds, groups
from regard.tasks.task import Prediction, Progress, device_of
from regard.text import PAD

Write = Callable[[Sequence[int]], tuple[str, tuple[str, ...]]]
EMPTY = Prediction("", 0.0)
CROWD = 128  # hypotheses


@torch.inference_mode()
def generate(
    model: Model,
    sources: Sequence[np.ndarray],
    settings: DecodeSettings,
    write: Write,
    *,
    tokens: int,
    advance: Progress | None = None,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[Prediction]:
    """The best output of each source; `write` turns symbols into text and their names."""
    model.eval()
    device = device_of(model)
    found: list[Prediction] = [EMPTY] * len(sources)
    for group in _grouped(model, [max(1, len(source)) for source in sources], tokens, settings):
        rows = [sources[number] for number in group.filled]
        lengths = torch.tensor([len(row) for row in rows], device=device)
        encoded = model.encode(_tensor(rows, group.length).to(device), lengths)
        prefix = None
        if prefixes is not None:
            prefix = Prefix.of([prefixes[number] for number in group.filled], device)
        results = search(model.decoder, encoded, settings, prefix, group.filled)
        for number, hypotheses in zip(group.members, results, strict=False):
            found[number] = prediction(hypotheses, write)
        if advance is not None:
            advance(len(group.members))
    return found


def _grouped(
    model: Model, lengths: Sequence[int], tokens: int, settings: DecodeSettings
) -> Iterator[Group]:
    """A lean decoder takes any number of rows, and gains nothing from more than a crowd."""
    if model.decoder.multiple > 1:
        return groups(lengths, tokens)
    return crowds(lengths, tokens, max(1, CROWD // settings.beam))


def prediction(hypotheses: Sequence[Hypothesis], write: Write) -> Prediction:
    """The best hypothesis as an answer, the others as alternatives."""
    best = hypotheses[0]
    text, symbols = write(best.tokens)
    others = tuple((write(other.tokens)[0], other.score) for other in hypotheses)
    return Prediction(
        text, best.score, symbols, best.tokens, best.log_probabilities, best.finish, others
    )


def _tensor(rows: Sequence[np.ndarray], length: int) -> Tensor:
    if rows[0].ndim == 2:
        return framed(rows, length, rows[0].shape[1])
    return padded(rows, length, PAD)
