"""Sums over rows: of what the programs of another kernel left, and of a gradient through max(0, x).

Torch's own reduction shares a column among blocks that wait for one another, which takes longer than reading.
"""

from __future__ import annotations

from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS, COLUMNS = 256, 32  # of a tile
WARPS = 8
MASKED_ROWS, MASKED_COLUMNS, MASKED_WARPS = 8, 512, 4
GROUPS = 512  # of rows, each with a sum of its own: enough programs for every multiprocessor


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


@triton.jit
@no_type_check
def _masked(
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


def masked(gradient: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient where the ReLU let something through, and its sum over rows."""
    rows, width = inside.shape
    across = triton.cdiv(width, MASKED_COLUMNS)
    groups = max(1, min(triton.cdiv(rows, MASKED_ROWS), GROUPS // across))
    passed = torch.empty_like(inside)
    sums = inside.new_empty(groups, width, dtype=torch.float32)
    _masked[(groups, across)](
        gradient, inside, passed, sums, rows, width,
        ROWS=MASKED_ROWS, COLUMNS=MASKED_COLUMNS, num_warps=MASKED_WARPS,
    )  # fmt: skip
    return passed, add_up(sums)
