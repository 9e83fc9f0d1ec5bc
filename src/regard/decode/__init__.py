"""Generation from anything that takes steps: greedy, beam, sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch

from regard.decode.beam import beam
from regard.decode.candidates import Prefix
from regard.decode.hypothesis import BeamTree, Expansion, Hypothesis
from regard.decode.sample import greedy, sample
from regard.models import Decoder, Encoded, select
from regard.seams import Seam
from regard.settings.decode import DecodeSettings

__all__ = [
    "BeamTree",
    "DecodeSettings",
    "Expansion",
    "Hypothesis",
    "Prefix",
    "beam",
    "greedy",
    "sample",
    "search",
]


class SearchForm(ABC):
    """Searches otherwise than step by step through `Decoder.step`."""

    devices: tuple[str, ...] = ()  # where alone it works; none: everywhere

    @abstractmethod
    def takes(
        self,
        decoder: Decoder[Any],
        encoded: Encoded,
        settings: DecodeSettings,
        prefix: Prefix | None,
    ) -> bool:
        """Whether this search is known here, and had better be done here."""

    @abstractmethod
    def search(
        self, decoder: Decoder[Any], encoded: Encoded, settings: DecodeSettings
    ) -> list[list[Hypothesis]]:
        """The hypotheses that `greedy` or `beam` would give."""


SEARCH: Seam[SearchForm] = Seam("search", "cuda_graph")


def search(
    decoder: Decoder[Any],
    encoded: Encoded,
    settings: DecodeSettings,
    prefix: Prefix | None = None,
    streams: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each row, best first, by the search that the settings name.

    `streams` number the rows for a search that draws, so that a row draws alike wherever it stands. Rows that
    are more than the decoder likes to follow at once are searched in turns.
    """
    numbers, hypotheses = range(len(encoded.states)), []
    most = max(1, decoder.crowd // (1 if settings.sample else settings.beam))
    if len(numbers) <= most:
        return _search(decoder, encoded, settings, prefix, streams)
    turns = -(-len(numbers) // most)  # as few as there can be, and alike
    each = -(-len(numbers) // turns)
    for turn in (numbers[first : first + each] for first in numbers[::each]):
        rows = torch.tensor(turn, device=encoded.states.device)
        forced = None if prefix is None else prefix.select(rows)
        drawn = [(numbers if streams is None else streams)[row] for row in turn]
        hypotheses += _search(decoder, select(encoded, rows), settings, forced, drawn)
    return hypotheses


def _search(
    decoder: Decoder[Any],
    encoded: Encoded,
    settings: DecodeSettings,
    prefix: Prefix | None,
    streams: Sequence[int] | None,
) -> list[list[Hypothesis]]:
    if settings.sample:
        return sample(decoder, encoded, settings, prefix, streams)
    here = encoded.states.device.type
    for form in SEARCH.forms():
        if here in (form.devices or (here,)) and form.takes(decoder, encoded, settings, prefix):
            return form.search(decoder, encoded, settings)
    if settings.beam == 1:
        return greedy(decoder, encoded, settings, prefix)
    return beam(decoder, encoded, settings, prefix)[0]
