"""Greedy search, and drawing by probability, over anything that takes steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decode.hypothesis import NOTHING, Finish, Hypothesis
from regard.decode.penalty import hypothesis
from regard.decode.prefix import Prefix, ready
from regard.decode.rank import best
from regard.decode.settings import DecodeSettings
from regard.models import Decoder, Encoded


@torch.no_grad()
def greedy(
    decoder: Decoder[Any],
    encoded: Encoded,
    settings: DecodeSettings,
    prefix: Prefix | None = None,
) -> list[list[Hypothesis]]:
    """The most probable symbol at each step (L75); of equals, the one with the lower id."""
    return _follow(
        decoder, encoded, settings, prefix, lambda found, _: best(found, 1)[1].squeeze(1)
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
    longest = settings.max_length + (0 if prefix is None else prefix.tokens.shape[1])
    numbers = range(len(encoded.states)) if streams is None else streams
    drawn = [_stream(settings.seed, number, longest) for number in numbers]
    uniform = torch.stack(drawn) if drawn else torch.zeros(0, longest)
    uniform = uniform.to(encoded.states.device)

    def draw(found: Tensor, number: int) -> Tensor:
        return pick(narrowed(found / settings.temperature, settings), uniform[:, number])

    return _follow(decoder, encoded, settings, prefix, draw)


def narrowed(
    found: Float[Tensor, "rows vocabulary"], settings: DecodeSettings
) -> Float[Tensor, "rows vocabulary"]:
    """The `top_k` likeliest symbols, or the fewest that make up `top_p`, share all probability."""
    found = found.log_softmax(-1)
    count = settings.top_k or found.shape[-1]
    values, index = best(found, count)
    before = values.exp().cumsum(-1) - values.exp()
    values = values.masked_fill(before >= settings.top_p, -torch.inf)  # the first is always within
    return torch.full_like(found, -torch.inf).scatter(1, index, values).log_softmax(-1)


def pick(
    found: Float[Tensor, "rows vocabulary"], uniform: Float[Tensor, " rows"]
) -> Int[Tensor, " rows"]:
    """The symbol under whose share of 0..1 the uniform number falls."""
    edges = found.exp().double().cumsum(-1)
    place = (uniform.double().unsqueeze(1) * edges[:, -1:] >= edges).sum(-1)
    return place.clamp(max=found.shape[1] - 1)


def _stream(seed: int, row: int, length: int) -> Tensor:
    generator = torch.Generator().manual_seed((seed * 1_000_003 + row) % 2**63)
    return torch.rand(length, generator=generator)


def _follow(
    decoder: Decoder[Any],
    encoded: Encoded,
    settings: DecodeSettings,
    prefix: Prefix | None,
    choose: Any,
) -> list[list[Hypothesis]]:
    batch, device = len(encoded.states), encoded.states.device
    prefix = prefix or Prefix.of([()] * batch, device)
    capacity = settings.max_length + prefix.tokens.shape[1]
    limit = settings.max_length + prefix.lengths
    state = decoder.start(encoded, capacity)
    tokens = torch.full((batch,), decoder.begin, device=device)
    stopped = torch.zeros(batch, dtype=torch.bool, device=device)
    chosen, added = [], []
    for number in range(capacity if batch else 0):
        logits, state = decoder.step(state, tokens)
        may_end = number - prefix.lengths >= settings.min_length
        found = prefix.force(ready(logits, end=decoder.end, ended_allowed=may_end), number)
        tokens = choose(found, number)
        chosen.append(tokens)
        added.append(found.gather(1, tokens.unsqueeze(1)).squeeze(1))
        given = number < prefix.lengths
        stopped = stopped | ((tokens == decoder.end) & ~given) | (number + 1 >= limit)
        if stopped.all():
            break
    if not batch:
        return []
    symbols, values = torch.stack(chosen, 1).tolist(), torch.stack(added, 1).cpu()
    return [
        [_cut(symbols[row], values[row], int(prefix.lengths[row]), decoder.end, settings)]
        for row in range(batch)
    ]


def _cut(
    symbols: list[int],
    values: Float[Tensor, " steps"],
    forced: int,
    end: int,
    settings: DecodeSettings,
) -> Hypothesis:
    """The path up to its first end symbol, or to the length limit."""
    limit = min(settings.max_length + forced, len(symbols))
    ends = [n for n in range(forced, limit) if symbols[n] == end]
    stop = ends[0] + 1 if ends else limit
    path = list(zip(symbols[:stop], values[:stop].tolist(), strict=True))
    total = values.new_zeros(())
    for value in values[:stop]:  # in the order and precision of the beam, for equal scores
        total = total + value
    if not total.isfinite():
        return NOTHING
    finish: Finish = "end" if ends else "length"
    return hypothesis(path, float(total), finish, forced, settings)
