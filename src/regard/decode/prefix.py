"""Symbols that are given, not found: a prompt, or a word that a person chose instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

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
    found = logits.log_softmax(-1)
    if step >= prefix.longest + min_length:
        return found
    too_soon = step - prefix.lengths < min_length
    ending = found[:, end]
    if (too_soon & ~(ending < _SURELY_NOT_ALL)).any():  # nothing else may be left
        found = ready(logits, end=end, ended_allowed=~too_soon)
    else:
        found[:, end] = ending.masked_fill(too_soon, -torch.inf)
    return prefix.force(found, step)


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
