"""Softmax, smoothed cross-entropy and its gradient over one row of logits, in the row's own place."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 4096


@triton.jit
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
    block = min(BLOCK, triton.next_power_of_2(columns))
    _turn[(rows,)](
        logits,
        targets,
        losses,
        columns,
        symbols,
        smoothing,
        IGNORE=ignore,
        BLOCK=block,
        num_warps=8,
    )
    return losses
