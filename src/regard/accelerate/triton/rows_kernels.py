"""Kernels over rows: softmax, cross-entropy and its gradient in place, and sums of what programs left."""

from __future__ import annotations

from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

RUN = tl.constexpr(8)  # neighbours that one thread reads at once
BLOCK = 16_384  # columns at a time, at most
WARP_COLUMNS = 512  # of them, for each group of 32 threads
REGISTERS = 32  # a thread: all of a multiprocessor's threads find room
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
@no_type_check
def _turn(
    logits, targets, losses, columns, symbols, smoothing,
    IGNORE: tl.constexpr, BLOCK: tl.constexpr, FULL: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    logits += row * columns
    target = tl.load(targets + row)
    within = tl.arange(0, BLOCK // RUN)[:, None] * RUN + tl.arange(0, RUN)[None, :]
    if target == IGNORE:
        for start in range(0, columns, BLOCK):
            place = start + within
            nothing = tl.zeros([BLOCK // RUN, RUN], tl.float32).to(logits.dtype.element_ty)
            tl.store(logits + place, nothing, mask=FULL | (place < columns))
        tl.store(losses + row, 0.0)
    else:
        # Before the sums, at which threads wait for one another: none overwrites what another still reads.
        right = tl.load(logits + target).to(tl.float32)
        column = target.to(tl.int32)
        highest = tl.full([BLOCK // RUN], float("-inf"), tl.float32)
        total = tl.zeros([BLOCK // RUN], tl.float32)
        plain = tl.zeros([BLOCK // RUN], tl.float32)
        for start in range(0, symbols, BLOCK):
            place = start + within
            real = FULL | (place < symbols)
            values = tl.load(logits + place, mask=real, other=float("-inf")).to(tl.float32)
            plain += tl.sum(tl.where(real, values, 0.0), 1)
            values *= LOG2_E
            higher = tl.maximum(highest, tl.max(values, 1))
            level = tl.where(higher == float("-inf"), 0.0, higher)
            total = total * tl.exp2(highest - level) + tl.sum(tl.exp2(values - level[:, None]), 1)
            highest = higher
        top = tl.max(highest, 0)
        log_sum = top + tl.log2(tl.sum(total * tl.exp2(highest - top), 0))  # in base 2
        mean = tl.sum(plain, 0) / symbols
        loss = log_sum / LOG2_E - (1 - smoothing) * right - smoothing * mean
        tl.store(losses + row, loss)
        for start in range(0, columns, BLOCK):
            place = start + within
            real = FULL | (place < symbols)
            values = tl.load(logits + place, mask=real, other=float("-inf")).to(tl.float32)
            gradient = tl.exp2(values * LOG2_E - log_sum) - smoothing / symbols
            gradient = tl.where(place == column, gradient - (1 - smoothing), gradient)
            gradient = tl.where(real, gradient, 0.0)
            here = logits + place
            tl.store(here, gradient.to(logits.dtype.element_ty), mask=FULL | (place < columns))


def turn(
    logits: Tensor,
    targets: Tensor,
    symbols: int,
    smoothing: float,
    ignore: int,
    most: int = BLOCK,
) -> Tensor:
    """The loss of each row; its logits are overwritten by the gradient by them."""
    rows, columns = logits.shape
    losses = torch.empty(rows, device=logits.device, dtype=torch.float32)
    block = min(most, triton.next_power_of_2(columns))
    _turn[(rows,)](
        logits, targets, losses, columns, symbols, smoothing,
        IGNORE=ignore, BLOCK=block, FULL=columns == symbols and symbols % block == 0,
        num_warps=max(1, min(32, block // WARP_COLUMNS)), maxnreg=REGISTERS,
    )  # fmt: skip
    return losses


# Sums over rows: of what the programs of another kernel left, and of a gradient through max(0, x).
# Torch's own reduction shares a column among blocks that wait for one another, which takes longer than
# reading.

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
