"""The Triton side of `feedforward_op`: a gradient through max(0, x), and its sum over rows.

`bent` is one pass over memory. `product` takes none: the product that the gradient comes from does it last,
which pays on a Hopper chip, whose copy engine brings the tiles.
"""

from __future__ import annotations

from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from regard.accelerate.triton.sums_kernels import add_up

ROWS, COLUMNS = 8, 512  # of a tile
GROUPS = 512  # of rows, each with a sum of its own: enough programs for every multiprocessor
WARPS = 4
TILE, STEP, STAGES = 128, 64, 3  # of a product: small enough for two programs a multiprocessor
TOGETHER = 8  # tiles of rows that share the weights they read
HOPPER = 9


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


@triton.jit
@no_type_check
def _product(
    gradient, narrow, inside, passed, sums, rows, inner, width,
    TILE: tl.constexpr, STEP: tl.constexpr, TOGETHER: tl.constexpr,
):  # fmt: skip
    program, down = tl.program_id(0), tl.cdiv(rows, TILE)
    share = TOGETHER * tl.cdiv(inner, TILE)
    first = program // share * TOGETHER
    together = min(down - first, TOGETHER)
    tile = first + program % share % together
    row, column = tile * TILE, program % share // together * TILE
    total = tl.zeros([TILE, TILE], tl.float32)
    for step in range(0, width, STEP):
        total = tl.dot(gradient.load([row, step]), narrow.load([step, column]), total)
    total = tl.where(inside.load([row, column]) > 0, total, 0.0)
    passed.store([row, column], total.to(passed.dtype))
    column += tl.arange(0, TILE)
    tl.store(sums + tile.to(tl.int64) * inner + column, tl.sum(total, 0), mask=column < inner)


def takes(gradient: Tensor, inside: Tensor) -> bool:
    """Whether the product knows these: the copy engine wants rows of whole 16 bytes."""
    even = all(states.shape[1] % 8 == 0 for states in (gradient, inside))
    known = gradient.dtype == inside.dtype and inside.element_size() == 2
    return even and known and torch.cuda.get_device_capability(inside.device)[0] == HOPPER


def product(gradient: Tensor, narrow: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
    """(g W where something came out, its sum over rows)."""
    (rows, width), inner = gradient.shape, narrow.shape[1]
    down, across = triton.cdiv(rows, TILE), triton.cdiv(inner, TILE)
    passed = torch.empty_like(inside)
    sums = inside.new_empty(down, inner, dtype=torch.float32)
    _product[(down * across,)](
        TensorDescriptor.from_tensor(gradient, [TILE, STEP]),
        TensorDescriptor.from_tensor(narrow, [STEP, TILE]),
        TensorDescriptor.from_tensor(inside, [TILE, TILE]),
        TensorDescriptor.from_tensor(passed, [TILE, TILE]),
        sums, rows, inner, width,
        TILE=TILE, STEP=STEP, TOGETHER=TOGETHER, num_warps=WARPS, num_stages=STAGES,
    )  # fmt: skip
    return passed, add_up(sums)
