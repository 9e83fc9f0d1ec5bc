"""The Triton side of `segments`: imported only where there is a GPU to run it."""

from __future__ import annotations

from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.attention.kernels import segments_once_triton as once
from regard.attention.kernels import segments_tiles_triton as tiles

WARPS = {32: 2, 64: 4}
LONG = 48  # places a sequence, from where a large tile is fuller than two small ones
# What a program whose sequence fits into a tile needs, forward and back; longer ones make do with it.
FORWARD_REGISTERS = {32: 96, 64: 128}
REGISTERS = {32: 128, 64: 168}


@triton.jit
@no_type_check
def _clear(base, first, places, stride, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    """Zeros behind the last sequence: what is not there must not be NaN either."""
    for start in range(first, places, BLOCK):
        place = start + tl.arange(0, BLOCK)
        nothing = tl.zeros([BLOCK, WIDTH], tl.float32)
        once.put(base, place, stride, places, nothing, WIDTH)


@triton.jit
@no_type_check
def _forward(
    query, key, value, context, log_sums, query_starts, key_starts,
    query_head, query_place, key_head, key_place, value_head, value_place, places, scale,
    CAUSAL: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, SHORT: tl.constexpr,
):  # fmt: skip
    segment, head, heads = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    first, after = tl.load(query_starts + segment), tl.load(query_starts + segment + 1)
    key_first, key_after = tl.load(key_starts + segment), tl.load(key_starts + segment + 1)
    queries, keys = after - first, key_after - key_first
    query += head * query_head + first.to(tl.int64) * query_place
    key += head * key_head + key_first.to(tl.int64) * key_place
    value += head * value_head + key_first.to(tl.int64) * value_place
    row = heads * WIDTH
    own = context + head * WIDTH + first.to(tl.int64) * row
    sums = log_sums + head * places + first
    if queries + keys > 0:
        if SHORT or tl.maximum(queries, keys) <= BLOCK:
            once.forward(
                query, key, value, own, sums, queries, keys,
                query_place, key_place, value_place, row, scale, CAUSAL, WIDTH, BLOCK,
            )  # fmt: skip
        else:
            tiles.forward(
                query, key, value, own, sums, queries, keys,
                query_place, key_place, value_place, row, scale, CAUSAL, WIDTH, BLOCK,
            )  # fmt: skip
    if segment == tl.num_programs(0) - 1:
        _clear(context + head * WIDTH, after, places, row, BLOCK, WIDTH)


@triton.jit
@no_type_check
def _backward(
    gradient, query, key, value, context, log_sums, of_query, of_key, of_value, of_bias,
    query_starts, key_starts, query_head, query_place, key_head, key_place, value_head, value_place,
    of_query_place, of_key_place, of_value_place, places, key_places, scale,
    CAUSAL: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, SHORT: tl.constexpr,
    BIAS: tl.constexpr,
):  # fmt: skip
    segment, head, heads = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    first, after = tl.load(query_starts + segment), tl.load(query_starts + segment + 1)
    key_first, key_after = tl.load(key_starts + segment), tl.load(key_starts + segment + 1)
    queries, keys = after - first, key_after - key_first
    query += head * query_head + first.to(tl.int64) * query_place
    key += head * key_head + key_first.to(tl.int64) * key_place
    value += head * value_head + key_first.to(tl.int64) * value_place
    row = heads * WIDTH
    own = head * WIDTH + first.to(tl.int64) * row
    sums = log_sums + head * places + first
    of_query += head * WIDTH
    of_key += head * WIDTH
    of_value += head * WIDTH
    of_own_query = of_query + first.to(tl.int64) * of_query_place
    of_own_key = of_key + key_first.to(tl.int64) * of_key_place
    of_own_value = of_value + key_first.to(tl.int64) * of_value_place
    if BIAS:
        of_bias += segment.to(tl.int64) * 3 * row + head * WIDTH
    if queries + keys > 0:
        if SHORT or tl.maximum(queries, keys) <= BLOCK:
            once.backward(
                gradient + own, query, key, value, sums, of_own_query, of_own_key, of_own_value, of_bias,
                queries, keys, row, query_place, key_place, value_place,
                of_query_place, of_key_place, of_value_place, scale, CAUSAL, WIDTH, BLOCK, BIAS,
            )  # fmt: skip
        else:
            tiles.backward(
                gradient + own, query, key, value, context + own, sums,
                of_own_query, of_own_key, of_own_value, of_bias,
                queries, keys, row, query_place, key_place, value_place,
                of_query_place, of_key_place, of_value_place, scale, CAUSAL, WIDTH, BLOCK, BIAS,
            )  # fmt: skip
    elif BIAS:
        nothing = tl.zeros([WIDTH], tl.float32)
        once.put_sums(of_bias, row, nothing, nothing, WIDTH)
    if segment == tl.num_programs(0) - 1:
        _clear(of_query, after, places, of_query_place, BLOCK, WIDTH)
        _clear(of_key, key_after, key_places, of_key_place, BLOCK, WIDTH)
        _clear(of_value, key_after, key_places, of_value_place, BLOCK, WIDTH)


def _block(query: Tensor, starts: Tensor) -> int:
    """The side of a tile: what most sequences fill, and what fits on the chip."""
    places, width = query.shape[2:]
    is_long = places >= LONG * (len(starts) - 1)
    return 64 if is_long and width * query.element_size() <= 256 else 32


def _registers(query: Tensor, short: bool, most: int) -> int | None:
    """A bound on what a thread may have, so that long sequences do not crowd out the short ones."""
    is_small = query.shape[-1] * query.element_size() <= 128
    return most if is_small and not short else None


def _strides(*tensors: Tensor) -> tuple[int, ...]:
    """Head and place strides of each; the width must lie together."""
    return tuple(number for tensor in tensors for number in tensor.stride()[1:3])


def _together(tensor: Tensor) -> Tensor:
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    longest: int,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """Context (place, heads, width) and base-2 logs of the sums (heads, place)."""
    query, key, value = map(_together, (query, key, value))
    _, heads, places, width = query.shape
    block = _block(query, query_starts)
    short = longest <= block
    context = query.new_empty(places, heads, width)
    log_sums = query.new_empty(heads, places, dtype=torch.float32)
    _forward[(len(query_starts) - 1, heads)](
        query, key, value, context, log_sums, query_starts, key_starts,
        *_strides(query, key, value), places, scale,
        CAUSAL=causal, WIDTH=width, BLOCK=block, SHORT=short,
        num_warps=WARPS[block], num_stages=1, maxnreg=_registers(query, short, FORWARD_REGISTERS[block]),
    )  # fmt: skip
    return context, log_sums


def backward(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    context: Tensor,
    log_sums: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    longest: int,
    causal: bool,
    scale: float,
    into: tuple[Tensor, Tensor, Tensor] | None = None,
    of_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of queries, keys and values, each (place, heads, width).

    `into` says where else to write them, each (1, heads, place, width), heads side by side. `of_bias`
    (sequence, 3, heads * width) gets the sum of each over the places of a sequence.
    """
    query, key, value = map(_together, (query, key, value))
    _, heads, places, width = query.shape
    block = _block(query, query_starts)
    short = longest <= block
    if into is None:
        of_query = query.new_empty(places, heads, width)
        of_key, of_value = (key.new_empty(key.shape[2], heads, width) for _ in range(2))
    else:
        of_query, of_key, of_value = (one[0].transpose(0, 1) for one in into)
    found = of_query, of_key, of_value
    _backward[(len(query_starts) - 1, heads)](
        gradient, query, key, value, context, log_sums, *found, of_bias, query_starts, key_starts,
        *_strides(query, key, value), *(one.stride(0) for one in found), places, key.shape[2], scale,
        CAUSAL=causal, WIDTH=width, BLOCK=block, SHORT=short, BIAS=of_bias is not None,
        num_warps=WARPS[block], num_stages=1, maxnreg=_registers(query, short, REGISTERS[block]),
    )  # fmt: skip
    return found
