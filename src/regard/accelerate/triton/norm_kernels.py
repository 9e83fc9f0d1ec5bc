"""The Triton side of `norm_op`: imported only where there is a GPU to run it."""

from __future__ import annotations

from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.accelerate.triton.rows_kernels import add_up

WARP_COLUMNS = 512  # of a row, for each group of 32 threads
TILE = 1024  # numbers a program works on at once: several rows, where they are narrow
BACK_TILE = 2048  # the same on the backward pass, where fewer programs leave fewer sums to add up
STAGES = 3  # tiles under way at once, on the backward pass
PROGRAMS = 16  # a multiprocessor, on the backward pass, for each group of 32 threads: its registers suffice
CHANCES = 1 << 16  # dropout's share is counted in so many parts


@triton.jit
@no_type_check
def _mixed(number):
    """A bijection of 32 bits in which each bit of the input moves about half of the output's."""
    number ^= number >> 16
    number *= 0x7FEB352D
    number ^= number >> 15
    number *= 0x846CA68B
    return number ^ (number >> 16)


@triton.jit
@no_type_check
def _kept(seed, row, column, dropped):
    """Whether dropout keeps each place; `dropped` is the share of 2^16 that it does not.

    Two columns share a number of 32 bits, which is worked out once: a thread has both.
    """
    key = _mixed(row.to(tl.uint32) ^ seed.to(tl.uint32))
    key = _mixed(key ^ (seed >> 32).to(tl.uint32))
    number = _mixed(key[:, None] ^ (column >> 1).to(tl.uint32)[None, :])
    half = (number >> ((column & 1) * 16).to(tl.uint32)[None, :]) & 0xFFFF
    return half.to(tl.int32) >= dropped


@triton.jit
@no_type_check
def _both(one, other, next_one, next_other):
    """Two sums at once: threads wait for one another once."""
    return one + next_one, other + next_other


@triton.jit
@no_type_check
def _forward(
    states, change, weight, bias, seed, joined, normed, means, scales,
    rows, width, eps, dropped, grown,
    SUM: tl.constexpr, DROPS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    FULL: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    real = (row < rows)[:, None] & (FULL | (column < width)[None, :])
    place = row.to(tl.int64)[:, None] * width + column[None, :]
    values = tl.load(states + place, mask=real, other=0.0).to(tl.float32)
    if SUM:
        added = tl.load(change + place, mask=real, other=0.0).to(tl.float32)
        if DROPS:
            added = tl.where(_kept(tl.load(seed), row, column, dropped), added * grown, 0.0)
        rounded = (values + added).to(joined.dtype.element_ty)
        tl.store(joined + place, rounded, mask=real)
        values = rounded.to(tl.float32)
    mean = tl.sum(values, 1) / width
    centred = values - mean[:, None]
    if not FULL:
        centred = tl.where(real, centred, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, 1) / width + eps)
    gain = tl.load(weight + column, mask=column < width, other=0.0).to(tl.float32)
    shift = tl.load(bias + column, mask=column < width, other=0.0).to(tl.float32)
    result = centred * scale[:, None] * gain[None, :] + shift[None, :]
    tl.store(normed + place, result.to(normed.dtype.element_ty), mask=real)
    tl.store(means + row, mean, mask=row < rows)
    tl.store(scales + row, scale, mask=row < rows)


@triton.jit
@no_type_check
def _backward(
    of_normed, of_joined, joined, means, scales, weight, seed, of_states, of_change, of_weights,
    rows, width, dropped, grown,
    SUM: tl.constexpr, DROPS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    FULL: tl.constexpr, STAGES: tl.constexpr, OWES: tl.constexpr,
):  # fmt: skip
    program, programs = tl.program_id(0), tl.num_programs(0)
    column = tl.arange(0, BLOCK)
    inside = column < width
    gain = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    of_gain = tl.zeros([ROWS, BLOCK], tl.float32)
    of_shift = tl.zeros([ROWS, BLOCK], tl.float32)
    of_debt = tl.zeros([ROWS, BLOCK], tl.float32)
    drawn = 0
    if DROPS:
        drawn = tl.load(seed)
    for start in tl.range(program * ROWS, rows, programs * ROWS, num_stages=STAGES):
        row = start + tl.arange(0, ROWS)
        real = (row < rows)[:, None] & (FULL | inside[None, :])
        place = row.to(tl.int64)[:, None] * width + column[None, :]
        values = tl.load(joined + place, mask=real, other=0.0).to(tl.float32)
        # Nothing pulls where nothing is, so that no sum needs to be told.
        pull = tl.load(of_normed + place, mask=real, other=0.0).to(tl.float32)
        mean = tl.load(means + row, mask=row < rows, other=0.0)
        scale = tl.load(scales + row, mask=row < rows, other=0.0)
        unit = (values - mean[:, None]) * scale[:, None]
        of_gain += pull * unit
        of_shift += pull
        pull = pull * gain[None, :]
        level, along = tl.reduce((pull, pull * unit), 1, _both)
        level, along = level * scale / width, along * scale / width
        moved = pull * scale[:, None] - level[:, None] - unit * along[:, None]
        if SUM:
            moved += tl.load(of_joined + place, mask=real, other=0.0).to(tl.float32)
        tl.store(of_states + place, moved.to(of_states.dtype.element_ty), mask=real)
        if DROPS:
            moved = tl.where(_kept(drawn, row, column, dropped), moved * grown, 0.0)
            tl.store(of_change + place, moved.to(of_change.dtype.element_ty), mask=real)
        if OWES:
            of_debt += moved
    own = of_weights + program.to(tl.int64) * width + column
    tl.store(own, tl.sum(of_gain, 0), mask=inside)
    tl.store(own + programs.to(tl.int64) * width, tl.sum(of_shift, 0), mask=inside)
    if OWES:
        tl.store(own + programs.to(tl.int64) * 2 * width, tl.sum(of_debt, 0), mask=inside)


def _tile(block: int, size: int) -> tuple[int, int]:
    """How many rows a program works on at once, and with how many groups of 32 threads."""
    rows = max(1, size // block)
    return rows, max(1, min(8, rows * block // WARP_COLUMNS))


def _dropping(dropout: float) -> tuple[int, float]:
    """The share of 2^16 to drop, and by what the rest grows."""
    return round(dropout * CHANCES), 1.0 / (1.0 - dropout)


def forward(
    states: Tensor,
    change: Tensor | None,
    weight: Tensor,
    bias: Tensor,
    seed: Tensor | None,
    eps: float,
    dropout: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sum (empty where nothing is added), its norm, and each row's mean and 1 / deviation."""
    width = states.shape[-1]
    rows, block = states.numel() // width, triton.next_power_of_2(width)
    joined = states.new_empty(0) if change is None else torch.empty_like(states)
    normed = torch.empty_like(states)
    mean, scale = (states.new_empty(rows, dtype=torch.float32) for _ in range(2))
    at_once, warps = _tile(block, TILE)
    _forward[(triton.cdiv(rows, at_once),)](
        states, change, weight, bias, seed, joined, normed, mean, scale,
        rows, width, eps, *_dropping(dropout),
        SUM=change is not None, DROPS=seed is not None, ROWS=at_once, BLOCK=block,
        FULL=block == width, num_warps=warps,
    )  # fmt: skip
    return joined, normed, mean, scale


def backward(
    of_normed: Tensor,
    of_joined: Tensor | None,
    joined: Tensor,
    mean: Tensor,
    scale: Tensor,
    weight: Tensor,
    seed: Tensor | None,
    dropout: float,
    owes: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the states, of the change (empty if it is the same), of gamma, beta and the debt."""
    width = joined.shape[-1]
    rows, block = joined.numel() // width, triton.next_power_of_2(width)
    at_once, warps = _tile(block, BACK_TILE)
    fits = block <= 4096  # 16 numbers of each kind a thread: more must do with one tile under way
    programs = min(triton.cdiv(rows, at_once), _processors(joined) * max(1, PROGRAMS // warps))
    of_states = torch.empty_like(joined)
    of_change = joined.new_empty(0) if seed is None else torch.empty_like(joined)
    of_weights = joined.new_empty(3 if owes else 2, programs, width, dtype=torch.float32)
    _backward[(programs,)](
        of_normed, of_joined, joined, mean, scale, weight, seed, of_states, of_change, of_weights,
        rows, width, *_dropping(dropout),
        SUM=of_joined is not None, DROPS=seed is not None, ROWS=at_once, BLOCK=block,
        FULL=block == width, STAGES=STAGES if fits else 1, OWES=owes,
        num_warps=warps, maxnreg=65_536 // (32 * PROGRAMS) // 8 * 8 if fits else None,
    )  # fmt: skip
    return of_states, of_change, add_up(of_weights)


def _processors(tensor: Tensor) -> int:
    if not tensor.is_cuda:  # interpreted
        return 1
    return torch.cuda.get_device_properties(tensor.device).multi_processor_count
