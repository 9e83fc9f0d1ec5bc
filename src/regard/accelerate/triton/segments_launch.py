"""How the kernels of `segments` are launched: imported only where there is a GPU to run them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.accelerate.triton import segments_kernels
from regard.attention.packed import TILE

WARPS = {32: 2, 64: 4}
ON_CHIP = 256  # bytes a place, for tiles as large as those by which work is shared out
# What a thread may have where it would take more, so that three programs share a multiprocessor, or five on
# the way forward.
REGISTERS, REGISTERS_BACK = 96, 168

Layout = tuple[Tensor, Tensor, Tensor, Tensor]  # numbers of queries and keys, tiles of both


def options(query: Tensor, longest: int, causal: bool, back: bool) -> dict[str, Any]:
    """What a kernel, forward or back, is compiled for: where no sequence is long, not for long ones."""
    width, size = query.shape[-1], query.element_size()
    block = TILE if width * size <= ON_CHIP else TILE // 2
    is_long = longest > block or block < TILE
    is_counted = is_long and size == 2 and width <= 64  # registers, for such heads
    most = REGISTERS_BACK if back else REGISTERS
    return {
        "CAUSAL": causal, "WIDTH": width, "BLOCK": block, "SIZE": TILE, "LONG": is_long,
        "num_warps": WARPS[block], "num_stages": 1, "maxnreg": most if is_counted else None,
    }  # fmt: skip


def _strides(*tensors: Tensor) -> tuple[int, ...]:
    """Head and place strides of each; the width must lie together."""
    return tuple(number for tensor in tensors for number in tensor.stride()[1:3])


def _together(tensor: Tensor) -> Tensor:
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: Layout,
    longest: int,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """Context (place, heads, width) and base-2 logs of the sums (heads, place)."""
    query, key, value = map(_together, (query, key, value))
    _, heads, places, width = query.shape
    context = query.new_empty(places, heads, width)
    log_sums = query.new_empty(heads, places, dtype=torch.float32)
    segments_kernels.forward[(len(layout[2]) * heads,)](
        query, key, value, context, log_sums, *layout, *_strides(query, key, value),
        places, scale, heads, **options(query, longest, causal, back=False),
    )  # fmt: skip
    return context, log_sums


def backward(  # noqa: PLR0913, PLR0917
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    context: Tensor,
    log_sums: Tensor,
    layout: Layout,
    longest: int,
    causal: bool,
    scale: float,
    into: tuple[Tensor, Tensor, Tensor] | None = None,
    of_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of queries, keys and values, each (place, heads, width).

    `into` says where else to write them, each (1, heads, place, width), heads side by side. `of_bias`
    (tiles, 3 * heads * width) gets what each share adds to the gradients of biases.
    """
    query, key, value = map(_together, (query, key, value))
    _, heads, places, width = query.shape
    if into is None:
        of_query = query.new_empty(places, heads, width)
        of_key, of_value = (key.new_empty(key.shape[2], heads, width) for _ in range(2))
    else:
        of_query, of_key, of_value = (one[0].transpose(0, 1) for one in into)
    gradients = of_query, of_key, of_value
    segments_kernels.backward[(len(layout[2]) * heads,)](
        gradient, query, key, value, context, log_sums, *gradients, of_bias, *layout,
        *_strides(query, key, value), *(one.stride(0) for one in gradients), places, scale, heads,
        BIAS=of_bias is not None, **options(query, longest, causal, back=True),
    )  # fmt: skip
    return gradients
