"""Which kernels a packed row asks for: imported only where there is a GPU to run them.

Sequences are dealt with by length: those that fit into a small tile, those that fit into a large one, and
longer ones tile by tile. Each kind is a launch of its own: in one for all, registers of the longest would
crowd out the shortest, and everything would wait for the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch import Tensor

from regard.attention.kernels import segments_triton

WARPS = {32: 2, 64: 4}
LONG = 48  # places a sequence, from where a large tile is fuller than two small ones
EACH = 16  # sequences that a program goes through in search of rare ones, at most
ENOUGH = 1024  # programs, from where on each goes through several
PARTS = 16  # programs among which the tiles of one sequence are shared, at most
# What a thread may have where it would take more, so that nine small programs share a multiprocessor, or
# three large ones, or four on the way forward.
ONCE_BACK = {(32, False): 112, (32, True): 112, (64, True): 168}  # by side of a tile, causal or not
TILES, TILES_BACK = 128, 168


@dataclass(frozen=True)
class Launch:
    """One kernel, for sequences of more than `least` places; `parts` programs share the tiles of one.

    `groups` programs a head and part go through `each` sequences; their sums begin in row `row`.
    """

    block: int
    least: int
    each: int
    groups: int
    parts: int = 1
    row: int = 0

    @property
    def is_tiled(self) -> bool:
        """Whether its sequences are longer than a tile."""
        return self.least >= self.block

    @property
    def end(self) -> int:
        """Behind the last row of sums: there is one for each program."""
        return self.row + self.groups * self.parts

    def options(self, query: Tensor, causal: bool, back: bool) -> dict[str, Any]:
        """What its kernel, forward or back, is compiled for."""
        most: int | None = TILES_BACK if back else TILES
        if not self.is_tiled:
            most = ONCE_BACK.get((self.block, causal)) if back else None
        is_counted = (
            query.element_size() == 2 and query.shape[-1] <= 64
        )  # registers, for such heads
        return {
            "CAUSAL": causal, "WIDTH": query.shape[-1], "BLOCK": self.block, "LEAST": self.least,
            "EACH": self.each, "TILED": self.is_tiled,
            "num_warps": WARPS[self.block], "num_stages": 1, "maxnreg": most if is_counted else None,
        }  # fmt: skip


def launches(query: Tensor, starts: Tensor, longest: int) -> list[Launch]:
    """Kernels for sequences of up to `longest` places.

    Short ones are many, and each has a program. Of longer ones there are few, and programs for all that might
    be long would cost more than looking for those that are.
    """
    _, heads, places, width = query.shape
    segments = len(starts) - 1
    large = 64 if width * query.element_size() <= 256 else 32  # what fits on the chip
    small = large if places >= LONG * segments else 32
    each = min(EACH, triton.next_power_of_2(max(1, segments * heads // ENOUGH)))
    groups = triton.cdiv(segments, each)
    found = [Launch(small, 0, 1, segments)]
    if small < min(large, longest):
        found.append(Launch(large, small, each, groups, row=found[-1].end))
    if large < longest:
        parts = min(PARTS, triton.cdiv(longest, large))
        found.append(Launch(large, large, each, groups, parts, found[-1].end))
    return found


def _strides(*tensors: Tensor) -> tuple[int, ...]:
    """Head and place strides of each; the width must lie together."""
    return tuple(number for tensor in tensors for number in tensor.stride()[1:3])


def _together(tensor: Tensor) -> Tensor:
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    longest: int,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """Context (place, heads, width) and base-2 logs of the sums (heads, place)."""
    query, key, value = map(_together, (query, key, value))
    _, heads, places, width = query.shape
    context = query.new_empty(places, heads, width)
    log_sums = query.new_empty(heads, places, dtype=torch.float32)
    for launch in launches(query, query_starts, longest):
        segments_triton.forward[(launch.groups, heads, launch.parts)](
            query, key, value, context, log_sums, query_starts, key_starts,
            *_strides(query, key, value), places, scale, len(query_starts) - 1,
            **launch.options(query, causal, back=False),
        )  # fmt: skip
    return context, log_sums


def backward(  # noqa: PLR0913, PLR0917
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    context: Tensor,
    log_sums: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    longest: int,
    causal: bool,
    scale: float,
    into: tuple[Tensor, Tensor, Tensor] | None = None,
    of_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of queries, keys and values, each (place, heads, width).

    `into` says where else to write them, each (1, heads, place, width), heads side by side. `of_bias`
    (`rows_of_sums`, 3 * heads * width) gets what each program adds to the gradients of biases.
    """
    query, key, value = map(_together, (query, key, value))
    _, heads, places, width = query.shape
    if into is None:
        of_query = query.new_empty(places, heads, width)
        of_key, of_value = (key.new_empty(key.shape[2], heads, width) for _ in range(2))
    else:
        of_query, of_key, of_value = (one[0].transpose(0, 1) for one in into)
    found = of_query, of_key, of_value
    for launch in launches(query, query_starts, longest):
        segments_triton.backward[(launch.groups, heads, launch.parts)](
            gradient, query, key, value, context, log_sums, *found,
            None if of_bias is None else of_bias[launch.row :], query_starts, key_starts,
            *_strides(query, key, value), *(one.stride(0) for one in found), places, key.shape[2],
            scale, len(query_starts) - 1, BIAS=of_bias is not None,
            **launch.options(query, causal, back=True),
        )  # fmt: skip
    return found


def rows_of_sums(query: Tensor, starts: Tensor, longest: int) -> int:
    """How many programs a head has on the way back, each of which leaves a row of sums."""
    return launches(query, starts, longest)[-1].end
