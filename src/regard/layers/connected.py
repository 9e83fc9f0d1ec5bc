"""What self-attention is measured against: fully connected layers over positions, with fixed weights (L41).

Attention works its weights out from what it reads, so one small set of parameters serves any length. A fully
connected layer has a weight of its own for every pair of neurons it joins: over a window its parameters grow
with the window, over the whole sequence with the square of the longest length, where it also ends.
"""

from __future__ import annotations

from typing import Literal, final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Mask, Padding
from regard.errors import UsageError, require_integers

States = Float[Tensor, "batch length width"]


@final
class Connected(nn.Module):
    """Window: y_i = W [x_(i-r); ..; x_(i+r)] + b, the same W at each position, zeros outside the sequence.

    Whole: [y_1; ..; y_n] = W [x_1; ..; x_n] + b for the longest n, which `size` is; shorter sequences are
    filled up with zeros. Neither is a choice of attention: there are no scores, and nothing to watch.
    """

    def __init__(self, width: int, over: Literal["window", "whole"], size: int) -> None:
        super().__init__()
        require_integers("Connected", width=width, size=size)
        self.width, self.over, self.size = width, over, size
        into = (2 * size + 1) * width if over == "window" else size * width
        self.map = nn.Linear(into, width if over == "window" else into)
        nn.init.xavier_uniform_(self.map.weight)
        nn.init.zeros_(self.map.bias)

    def within(self, states: States, mask: Mask | None = None) -> States:
        """Each position from its window, or all from all; what is padding counts as zeros."""
        if mask is not None and not isinstance(mask, Padding):
            raise UsageError(
                f"a fully connected layer has no pairs that a {type(mask).__name__.lower()} mask could close",
                where="model.encoder.mixing",
                remedy='set model.encoder.mixing = "attention", or reach = "full" and batch.packed = false',
            )
        if mask is not None:
            void = mask.unseen(states.shape[1]).unsqueeze(-1)
            states = states.masked_fill(void, 0.0)
        return self._near(states) if self.over == "window" else self._all(states)

    def _near(self, states: States) -> States:
        length = states.shape[1]
        wide = F.pad(states, (0, 0, self.size, self.size))
        shifted = [wide[:, first : first + length] for first in range(2 * self.size + 1)]
        return self.map(torch.cat(shifted, -1))

    def _all(self, states: States) -> States:
        length = states.shape[1]
        if length > self.size:
            raise UsageError(
                f"a fully connected layer over {self.size} positions cannot read {length}",
                where="model.encoder.max_length",
                remedy="shorten the input, or raise max_length before training; attention has no such end",
            )
        row = F.pad(states, (0, 0, 0, self.size - length)).flatten(1)
        return self.map(row).unflatten(1, (self.size, self.width))[:, :length]
