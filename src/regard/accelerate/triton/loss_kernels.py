"""Softmax, smoothed cross-entropy and its gradient over one row of logits, in the row's own place.

A row is read twice: for its sum of exponentials, and for its gradient. The second time it is still near, and
a multiprocessor has several rows under way, which it could not have if each were kept on the chip.
"""

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
