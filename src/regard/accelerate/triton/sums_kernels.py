"""Sums of a few hundred rows: the last act of kernels whose programs each left one.

Torch's own reduction shares a column among blocks that wait for one another, which takes longer than reading.
"""

from __future__ import annotations

from typing import no_type_check

import triton
import triton.language as tl
from torch import Tensor

ROWS, COLUMNS = 256, 32  # of a tile
WARPS = 8


@triton.jit
@no_type_check
def _add_up(parts, sums, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    plane = tl.program_id(1).to(tl.int64)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    parts += plane * rows * columns
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        real = (row < rows)[:, None] & (column < columns)[None, :]
        place = row.to(tl.int64)[:, None] * columns + column[None, :]
        total += tl.load(parts + place, mask=real, other=0.0)
    tl.store(sums + plane * columns + column, tl.sum(total, 0), mask=column < columns)


def add_up(parts: Tensor) -> Tensor:
    """(.., rows, columns) in float32 summed over its rows."""
    *planes, rows, columns = parts.shape
    sums = parts.new_empty(*planes, columns)
    _add_up[(triton.cdiv(columns, COLUMNS), sums.numel() // columns)](
        parts, sums, rows, columns, ROWS=ROWS, COLUMNS=COLUMNS, num_warps=WARPS
    )
    return sums
