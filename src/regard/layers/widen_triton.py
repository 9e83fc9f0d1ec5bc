"""The Triton side of `widen`: a gradient through max(0, x), and its sum over rows, in one pass."""

from __future__ import annotations

from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.attention.kernels.sums_triton import add_up

ROWS, COLUMNS = 8, 512  # of a tile
GROUPS = 512  # of rows, each with a sum of its own: enough programs for every multiprocessor
WARPS = 4


@triton.jit
@no_type_check
def _bent(
    gradient, found, passed, sums, rows, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):  # fmt: skip
    group, groups = tl.program_id(0), tl.num_programs(0)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = column < width
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(group * ROWS, rows, groups * ROWS):
        row = start + tl.arange(0, ROWS)
        real = (row < rows)[:, None] & inside[None, :]
        place = row.to(tl.int64)[:, None] * width + column[None, :]
        pull = tl.load(gradient + place, mask=real, other=0.0)
        out = tl.load(found + place, mask=real, other=0.0)
        pull = tl.where(out.to(tl.float32) > 0, pull.to(tl.float32), 0.0)
        total += pull
        tl.store(passed + place, pull.to(passed.dtype.element_ty), mask=real)
    own = sums + group.to(tl.int64) * width + column
    tl.store(own, tl.sum(total, 0), mask=inside)


def bent(gradient: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient where something came out, and its sum over rows."""
    rows, width = found.shape
    across = triton.cdiv(width, COLUMNS)
    groups = max(1, min(triton.cdiv(rows, ROWS), GROUPS // across))
    passed = torch.empty_like(found)
    sums = found.new_empty(groups, width, dtype=torch.float32)
    _bent[(groups, across)](
        gradient, found, passed, sums, rows, width, ROWS=ROWS, COLUMNS=COLUMNS, num_warps=WARPS
    )
    return passed, add_up(sums)
