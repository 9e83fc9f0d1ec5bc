"""Greedy search, and drawing by probability, over anything that takes steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.candidates import Prefix, best, first, following, numbers
from regard.decode.hypothesis import NOTHING, Finish, Hypothesis, hypothesis, kept_rows
from regard.models import Decoder, Encoded, select
from regard.models.encoder import require_encoded
from regard.settings.decode import DecodeSettings

# (log-probabilities, which rows these are, number of the step) -> one symbol a row
Choose = Callable[[Tensor, Tensor, int], Tensor]


@torch.no_grad()
def greedy(
    decoder: Decoder[Any],
    encoded: Encoded,
    settings: DecodeSettings,
    prefix: Prefix | None = None,
) -> list[list[Hypothesis]]:
    """The most probable symbol at each step (L75); of equals, the one with the lower id."""
    require_encoded(encoded)
    return _follow(
        decoder,
        encoded,
        settings,
        prefix,
        lambda log_probabilities, _, __: first(log_probabilities),
    )


@torch.no_grad()
def sample(
    decoder: Decoder[Any],
    encoded: Encoded,
    settings: DecodeSettings,
    prefix: Prefix | None = None,
    streams: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """Symbols drawn by their probability.

    Each row draws from a stream of its own, seeded by (seed, its number in `streams`; else its place): its
    output does not depend on its neighbours, and with numbers not on its place either.
    """
    require_encoded(encoded)
    longest = settings.max_length + (0 if prefix is None else prefix.tokens.shape[1])
    numbers = range(len(encoded.states)) if streams is None else streams
    drawn = [_stream(settings.seed, number, longest) for number in numbers]
    uniform = torch.stack(drawn) if drawn else torch.zeros(0, longest)
    uniform = uniform.to(encoded.states.device)

    def draw(log_probabilities: Tensor, rows: Tensor, number: int) -> Tensor:
        return pick(
            narrowed(log_probabilities / settings.temperature, settings), uniform[rows, number]
        )

    return _follow(decoder, encoded, settings, prefix, draw)


def narrowed(
    log_probabilities: Float[Tensor, "rows vocabulary"], settings: DecodeSettings
) -> Float[Tensor, "rows vocabulary"]:
    """The `top_k` likeliest symbols, or the fewest that make up `top_p`, share all probability."""
    log_probabilities = log_probabilities.log_softmax(-1)
    count = settings.top_k or log_probabilities.shape[-1]
    values, index = best(log_probabilities, count)
    before = values.exp().cumsum(-1) - values.exp()
    values = values.masked_fill(before >= settings.top_p, -torch.inf)  # the first is always within
    return torch.full_like(log_probabilities, -torch.inf).scatter(1, index, values).log_softmax(-1)


def pick(
    log_probabilities: Float[Tensor, "rows vocabulary"], uniform: Float[Tensor, " rows"]
) -> Int[Tensor, " rows"]:
    """The symbol under whose share of 0..1 the uniform number falls."""
    edges = log_probabilities.exp().double().cumsum(-1)
    place = (uniform.double().unsqueeze(1) * edges[:, -1:] >= edges).sum(-1)
    return place.clamp(max=log_probabilities.shape[1] - 1)


def _stream(seed: int, row: int, length: int) -> Tensor:
    generator = torch.Generator().manual_seed((seed * 1_000_003 + row) % 2**63)
    return torch.rand(length, generator=generator)


def _follow(
    decoder: Decoder[Any],
    encoded: Encoded,
    settings: DecodeSettings,
    prefix: Prefix | None,
    choose: Choose,
) -> list[list[Hypothesis]]:
    batch, device = len(encoded.states), encoded.states.device
    given = forced = prefix or Prefix.of([()] * batch, device)
    capacity, least = settings.max_length + forced.longest, settings.min_length
    rows = torch.arange(batch, device=device)
    state = decoder.start(encoded, capacity)
    tokens = torch.full((batch,), decoder.begin, device=device)
    stopped = torch.zeros(batch, dtype=torch.bool, device=device)
    precise, record = False, []
    for number in range(capacity if batch else 0):
        logits, state = decoder.step(state, tokens)
        log_probabilities = following(logits, forced, number, end=decoder.end, min_length=least)
        precise = log_probabilities.dtype == torch.float64
        tokens, added = _chosen(log_probabilities, choose, rows, number)
        del logits, log_probabilities  # what is large goes before the next step comes
        record.append(_noted(rows, tokens, added))
        ended = (tokens == decoder.end) & (forced.lengths <= number)
        stopped = stopped | ended | (number + 1 >= settings.max_length + forced.lengths)
        kept = kept_rows(~stopped, decoder.multiple)
        if not len(kept):
            break
        if len(kept) < len(rows):
            rows, tokens, stopped = rows[kept], tokens[kept], stopped[kept]
            state, forced = select(state, kept), forced.select(kept)
    paths: list[list[tuple[int, float]]] = [[] for _ in range(batch)]
    for step in record:
        for row, token, value in zip(*map(_listed, step), strict=True):
            paths[row].append((token, value))
    lengths = given.lengths.tolist()
    return [
        [_cut(path, length, decoder.end, settings, np.float64 if precise else np.float32)]
        for path, length in zip(paths, lengths, strict=True)
    ]


def _noted(*parts: Tensor) -> tuple[Tensor | list[Any], ...]:
    """As lists, on a CPU: small tensors that stay where large ones come and go leave holes in memory."""
    return tuple(part.tolist() if part.device.type == "cpu" else part for part in parts)


def _listed(part: Tensor | list[Any]) -> list[Any]:
    return part.tolist() if isinstance(part, Tensor) else part


def _chosen(
    log_probabilities: Tensor, choose: Choose, rows: Tensor, number: int
) -> tuple[Tensor, Tensor]:
    """The symbols chosen and their log-probabilities; where numbers broke down, among what is left."""
    tokens = choose(log_probabilities, rows, number)
    added = log_probabilities.gather(1, tokens.unsqueeze(1)).squeeze(1)
    if added.isnan().any():
        return _chosen(numbers(log_probabilities), choose, rows, number)
    return tokens, added


def _cut(
    path: list[tuple[int, float]],
    forced: int,
    end: int,
    settings: DecodeSettings,
    precision: type[np.floating],
) -> Hypothesis:
    """The path up to its first end symbol, or to the length limit."""
    limit = min(settings.max_length + forced, len(path))
    ends = [n for n in range(forced, limit) if path[n][0] == end]
    path = path[: ends[0] + 1 if ends else limit]
    # One after the other, in the precision of the beam, for equal scores.
    total = float(np.cumsum([value for _, value in path], dtype=precision)[-1])
    if not math.isfinite(total):
        return NOTHING
    finish: Finish = "end" if ends else "length"
    return hypothesis(path, total, finish, forced, settings)
