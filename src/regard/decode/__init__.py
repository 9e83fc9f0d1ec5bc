"""Generation from anything that takes steps: greedy, beam, sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.decode import graph
from regard.decode.beam import beam
from regard.decode.hypothesis import BeamTree, Expansion, Hypothesis
from regard.decode.prefix import Prefix
from regard.decode.sample import greedy, sample
from regard.decode.settings import DecodeSettings
from regard.models import Decoder, Encoded

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


def search(
    decoder: Decoder[Any],
    encoded: Encoded,
    settings: DecodeSettings,
    prefix: Prefix | None = None,
    streams: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each row, best first, by the search that the settings name.

    `streams` number the rows for a search that draws, so that a row draws alike wherever it stands.
    """
    if settings.sample:
        return sample(decoder, encoded, settings, prefix, streams)
    if graph.takes(decoder, encoded, settings, prefix):
        return graph.search(decoder, encoded, settings)
    if settings.beam == 1:
        return greedy(decoder, encoded, settings, prefix)
    return beam(decoder, encoded, settings, prefix)[0]
