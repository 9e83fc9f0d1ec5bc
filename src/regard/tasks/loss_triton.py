"""Softmax, smoothed cross-entropy and its gradient over one row of logits, in the row's own place."""

from __future__ import annotations

from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 4096
WHOLE = 32_768  # columns up to which a row stays on the chip and is read once
WARP_COLUMNS = 1024  # of a whole row, for each group of 32 threads


@triton.jit
@no_type_check
def _turn_whole(
    logits, targets, losses, columns, symbols, smoothing, IGNORE: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    logits += row * columns
    target = tl.load(targets + row)
    judged = target != IGNORE
    # Before the sums, at which threads wait for one another: none overwrites what another still reads.
    right = tl.load(logits + target, mask=judged, other=0.0).to(tl.float32)
    place = tl.arange(0, BLOCK)
    real = place < symbols
    values = tl.load(logits + place, mask=real, other=float("-inf")).to(tl.float32)
    mean = tl.sum(tl.where(real, values, 0.0), 0) / symbols
    top = tl.max(values, 0)
    powers = tl.exp(values - top)
    total = tl.sum(powers, 0)
    loss = top + tl.log(total) - (1 - smoothing) * right - smoothing * mean
    tl.store(losses + row, tl.where(judged, loss, 0.0))
    gradient = powers * (1 / total) - smoothing / symbols
    gradient = tl.where(place == target, gradient - (1 - smoothing), gradient)
    gradient = tl.where(real & judged, gradient, 0.0)
    tl.store(logits + place, gradient.to(logits.dtype.element_ty), mask=place < columns)


@triton.jit
@no_type_check
def _turn(
    logits, targets, losses, columns, symbols, smoothing, IGNORE: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    logits += row * columns
    target = tl.load(targets + row)
    if target == IGNORE:
        for start in range(0, columns, BLOCK):
            place = start + tl.arange(0, BLOCK)
            nothing = tl.zeros([BLOCK], tl.float32).to(logits.dtype.element_ty)
            tl.store(logits + place, nothing, mask=place < columns)
        tl.store(losses + row, 0.0)
    else:
        highest = tl.full([BLOCK], float("-inf"), tl.float32)
        total = tl.zeros([BLOCK], tl.float32)
        plain = tl.zeros([BLOCK], tl.float32)
        for start in range(0, symbols, BLOCK):
            place = start + tl.arange(0, BLOCK)
            real = place < symbols
            values = tl.load(logits + place, mask=real, other=float("-inf")).to(tl.float32)
            higher = tl.maximum(highest, values)
            level = tl.where(higher == float("-inf"), 0.0, higher)
            total = total * tl.exp(highest - level) + tl.exp(values - level)
            plain += tl.where(real, values, 0.0)
            highest = higher
        top = tl.max(highest, 0)
        log_sum = top + tl.log(tl.sum(total * tl.exp(highest - top), 0))
        right = tl.load(logits + target).to(tl.float32)
        mean = tl.sum(plain, 0) / symbols
        tl.store(losses + row, log_sum - (1 - smoothing) * right - smoothing * mean)
        for start in range(0, columns, BLOCK):
            place = start + tl.arange(0, BLOCK)
            real = place < symbols
            values = tl.load(logits + place, mask=real, other=float("-inf")).to(tl.float32)
            gradient = tl.exp(values - log_sum) - smoothing / symbols
            gradient = tl.where(place == target, gradient - (1 - smoothing), gradient)
            gradient = tl.where(real, gradient, 0.0)
            tl.store(logits + place, gradient.to(logits.dtype.element_ty), mask=place < columns)


def turn(logits: Tensor, targets: Tensor, symbols: int, smoothing: float, ignore: int) -> Tensor:
    """The loss of each row; its logits are overwritten by the gradient by them."""
    rows, columns = logits.shape
    losses = torch.empty(rows, device=logits.device, dtype=torch.float32)
    whole = triton.next_power_of_2(columns)
    is_whole = whole <= WHOLE
    kernel = _turn_whole if is_whole else _turn
    kernel[(rows,)](
        logits,
        targets,
        losses,
        columns,
        symbols,
        smoothing,
        IGNORE=ignore,
        BLOCK=whole if is_whole else BLOCK,
        num_warps=max(4, min(32, whole // WARP_COLUMNS)) if is_whole else 8,
    )
    return losses
