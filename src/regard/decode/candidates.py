"""The best candidates of each row, with ties broken by index: the same on every device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

BLOCK = 128  # candidates whose largest a processor finds at once


def best(
    scores: Float[Tensor, "rows candidates"], count: int
) -> tuple[Float[Tensor, "rows count"], Int[Tensor, "rows count"]]:
    """The `count` highest scores, highest first; of equal ones the lower index first."""
    count = min(count, scores.shape[1])
    if scores.dtype != torch.float32:
        values, index = scores.sort(dim=-1, descending=True, stable=True)
        return values[:, :count], index[:, :count]
    # `topk` breaks ties as it likes. So a float's bits, which order like the float once negatives are
    # flipped, become the high half of an integer, and the index, reversed, the low half: no two are equal.
    bits = (scores + 0.0).view(torch.int32).long()
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    low = 0xFFFFFFFF - torch.arange(scores.shape[1], device=scores.device)
    index = 0xFFFFFFFF - ((ordered << 32) | low).topk(count, -1).values.bitwise_and(0xFFFFFFFF)
    return scores.gather(1, index), index


def best_continuations(
    log_probabilities: Float[Tensor, "hypotheses vocabulary"],
    totals: Float[Tensor, "rows slots"],
    most: int,
) -> tuple[Float[Tensor, "rows most"], Int[Tensor, "rows most"]] | None:
    """`best` over totals + found of each row, from one pass over the vocabulary; None where that cannot tell.

    A row's best `most` continuations are among the best `most` + 1 of each of its hypotheses, unless one
    left out equals the last one taken, and might have the lower index. NaN counts as largest, so it shows.
    """
    rows, slots = totals.shape
    vocabulary = log_probabilities.shape[1]
    most, count = min(most, slots * vocabulary), min(most + 1, vocabulary)
    each, token = top(log_probabilities, count)
    sums = (totals.unsqueeze(-1) + each.view(rows, slots, count)).flatten(1)
    first = torch.arange(0, slots * vocabulary, vocabulary, device=log_probabilities.device)
    index, order = (token.view(rows, slots, count) + first.view(-1, 1)).flatten(1).sort(dim=-1)
    values, place = sums.gather(1, order).sort(dim=-1, descending=True, stable=True)
    values, index = values[:, :most], index.gather(1, place[:, :most])
    worst = values[:, -1:]
    unclear = each[:, :1].isnan().any()
    if count < vocabulary:
        last = sums.view(rows, slots, count)[:, :, -1]
        unclear = unclear | ((last >= worst) & worst.isfinite()).any()
    return None if unclear else (values, index)


def first(scores: Float[Tensor, "rows candidates"]) -> Int[Tensor, " rows"]:
    """The place of each row's highest score, of equal ones the first; NaN counts as highest."""
    size = scores.shape[1]
    if scores.device.type != "cpu" or size < 2 * BLOCK:
        return scores.argmax(1)
    highest = _blocks(scores).amax(2)
    if size % BLOCK:
        tail = scores[:, size // BLOCK * BLOCK :].amax(1, keepdim=True)
        highest = torch.cat([highest, tail], 1)
    # A last block that would reach beyond the end begins sooner: there is nothing as high before it.
    start = highest.argmax(1, keepdim=True).mul_(BLOCK).clamp_(max=size - BLOCK)
    within = scores.gather(1, start + torch.arange(BLOCK)).argmax(1)
    return start.squeeze(1) + within


def top(
    scores: Float[Tensor, "rows candidates"], count: int
) -> tuple[Float[Tensor, "rows count"], Int[Tensor, "rows count"]]:
    """`topk`, on a CPU by way of blocks: the highest scores are in the blocks with the highest largest."""
    rows, size = scores.shape
    if scores.device.type != "cpu" or size < 2 * count * BLOCK:
        values, index = scores.topk(count, -1)
        return values, index
    blocks = _blocks(scores)
    place = blocks.amax(2).topk(count, -1).indices.unsqueeze(2)
    candidates = blocks.gather(1, place.expand(-1, -1, BLOCK)).flatten(1)
    index = (place * BLOCK + torch.arange(BLOCK)).flatten(1)
    rest = size // BLOCK * BLOCK
    if rest < size:
        candidates = torch.cat([candidates, scores[:, rest:]], 1)
        index = torch.cat([index, torch.arange(rest, size).expand(rows, -1)], 1)
    values, place = candidates.topk(count, -1)
    return values, index.gather(1, place)


def _blocks(scores: Float[Tensor, "rows candidates"]) -> Float[Tensor, "rows blocks block"]:
    whole = scores.shape[1] // BLOCK * BLOCK
    return scores[:, :whole].unflatten(1, (-1, BLOCK))


# Symbols that are given, not found: a prompt, or a word that a person chose instead.

_SURELY_NOT_ALL = -1e-3  # a symbol of this log-probability leaves a thousandth for others


@final
@dataclass(frozen=True, eq=False)
class Prefix:
    """One forced beginning a row, of any length."""

    tokens: Int[Tensor, "rows longest"]
    lengths: Int[Tensor, " rows"]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], device: torch.device) -> Prefix:
        """From lists of ids."""
        lengths = torch.tensor([len(row) for row in rows], device=device, dtype=torch.long)
        tokens = torch.zeros(len(rows), max(map(len, rows), default=0), dtype=torch.long)
        for number, row in enumerate(rows):
            tokens[number, : len(row)] = torch.tensor(row, dtype=torch.long)
        return cls(tokens.to(device), lengths)

    @property
    def longest(self) -> int:
        """No row is forced from this step on."""
        return self.tokens.shape[1]

    def select(self, rows: Int[Tensor, " rows"]) -> Prefix:
        """The beginnings of these rows."""
        return Prefix(self.tokens[rows], self.lengths[rows])

    def force(
        self, log_probabilities: Float[Tensor, "rows vocabulary"], step: int
    ) -> Float[Tensor, "rows vocabulary"]:
        """Where a symbol is given, it is certain: log-probability 0, and -inf for all others."""
        if step >= self.longest:
            return log_probabilities
        given = (step < self.lengths).unsqueeze(1)
        chosen = torch.full_like(log_probabilities, -torch.inf)
        chosen.scatter_(1, self.tokens[:, step : step + 1], 0.0)
        return torch.where(given, chosen, log_probabilities)


def following(
    logits: Float[Tensor, "rows vocabulary"],
    prefix: Prefix,
    step: int,
    *,
    end: int,
    min_length: int,
) -> Float[Tensor, "rows vocabulary"]:
    """Log-probabilities of the next symbol: what is given is certain, an end that is too soon impossible.

    A row whose numbers broke down is NaN throughout; `numbers` mends it.
    """
    if logits.dtype not in (torch.float32, torch.float64):
        logits = logits.float()
    log_probabilities = logits.log_softmax(-1)
    if step >= prefix.longest + min_length:
        return log_probabilities
    too_soon = step - prefix.lengths < min_length
    ending = log_probabilities[:, end]
    if (too_soon & ~(ending < _SURELY_NOT_ALL)).any():  # nothing else may be left
        log_probabilities = ready(logits, end=end, ended_allowed=~too_soon)
    else:
        log_probabilities[:, end] = ending.masked_fill(too_soon, -torch.inf)
    return prefix.force(log_probabilities, step)


def numbers(log_probabilities: Float[Tensor, "rows vocabulary"]) -> Tensor:
    """The same without NaN: what is no number is impossible."""
    return log_probabilities.nan_to_num(nan=-torch.inf, neginf=-torch.inf)


def ready(
    logits: Float[Tensor, "rows vocabulary"], *, end: int, ended_allowed: Tensor
) -> Float[Tensor, "rows vocabulary"]:
    """Log-probabilities of the next symbol; NaN is impossible.

    Where the end comes too soon it is banned, unless nothing else is left: a pointer may run out of places.
    """
    if logits.dtype not in (torch.float32, torch.float64):
        logits = logits.float()
    log_probabilities = numbers(logits.log_softmax(-1))
    banned = log_probabilities.clone()
    banned[:, end] = -torch.inf
    too_soon = ~ended_allowed & banned.isfinite().any(-1)
    return torch.where(too_soon.unsqueeze(1), banned, log_probabilities)
