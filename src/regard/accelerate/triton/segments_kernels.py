"""The kernels of `segments`: a program is one head of one share of the work."""

from __future__ import annotations

from typing import no_type_check

import triton
import triton.language as tl

from regard.accelerate.triton import segments_once_kernels as once
from regard.accelerate.triton import segments_tiles_kernels as tiles


@triton.jit
@no_type_check
def _tile(tiles, number):
    """Where a share begins on a side, and how many places it has there."""
    first = tl.load(tiles + 3 * number)
    return first, tl.load(tiles + 3 * number + 1) - first


@triton.jit
@no_type_check
def _at(base, head, head_stride, place, place_stride):
    return base + head * head_stride + place.to(tl.int64) * place_stride


@triton.jit
@no_type_check
def forward(
    query, key, value, context, log_sums, query_numbers, key_numbers, query_tiles, key_tiles,
    query_head, query_place, key_head, key_place, value_head, value_place, places, scale, heads,
    CAUSAL: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, SIZE: tl.constexpr,
    LONG: tl.constexpr,
):  # fmt: skip
    """What each query finds."""
    number, head, row = tl.program_id(0) // heads, tl.program_id(0) % heads, heads * WIDTH
    first, queries = _tile(query_tiles, number)
    key_first, keys = _tile(key_tiles, number)
    query = _at(query, head, query_head, first, query_place)
    key = _at(key, head, key_head, key_first, key_place)
    value = _at(value, head, value_head, key_first, value_place)
    context = _at(context, head, WIDTH, first, row)
    log_sums += head * places + first
    query_numbers += first
    key_numbers += key_first
    if LONG and tl.maximum(queries, keys) > BLOCK:
        part = tl.load(query_tiles + 3 * number + 2)
        tiles.forward(
            query, key, value, context, log_sums, query_numbers, key_numbers, queries, keys, part,
            query_place, key_place, value_place, row, scale, CAUSAL, WIDTH, BLOCK, SIZE,
        )  # fmt: skip
    elif queries > 0:
        once.forward(
            query, key, value, context, log_sums, query_numbers, key_numbers, queries, keys,
            query_place, key_place, value_place, row, scale, CAUSAL, WIDTH, BLOCK,
        )  # fmt: skip


@triton.jit
@no_type_check
def backward(
    gradient, query, key, value, context, log_sums, of_query, of_key, of_value, of_bias,
    query_numbers, key_numbers, query_tiles, key_tiles,
    query_head, query_place, key_head, key_place, value_head, value_place,
    of_query_place, of_key_place, of_value_place, places, scale, heads,
    CAUSAL: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, SIZE: tl.constexpr,
    LONG: tl.constexpr, BIAS: tl.constexpr,
):  # fmt: skip
    """All three gradients, and a program's part of the biases'."""
    number, head, row = tl.program_id(0) // heads, tl.program_id(0) % heads, heads * WIDTH
    first, queries = _tile(query_tiles, number)
    key_first, keys = _tile(key_tiles, number)
    gradient = _at(gradient, head, WIDTH, first, row)
    query = _at(query, head, query_head, first, query_place)
    key = _at(key, head, key_head, key_first, key_place)
    value = _at(value, head, value_head, key_first, value_place)
    of_query = _at(of_query, head, WIDTH, first, of_query_place)
    of_key = _at(of_key, head, WIDTH, key_first, of_key_place)
    of_value = _at(of_value, head, WIDTH, key_first, of_value_place)
    log_sums += head * places + first
    query_numbers += first
    key_numbers += key_first
    if BIAS:
        of_bias = _at(of_bias, head, WIDTH, number, 3 * row)
    if LONG and tl.maximum(queries, keys) > BLOCK:
        context = _at(context, head, WIDTH, first, row)
        part = tl.load(query_tiles + 3 * number + 2)
        tiles.backward(
            gradient, query, key, value, context, log_sums, of_query, of_key, of_value, of_bias,
            query_numbers, key_numbers, queries, keys, part, row, query_place, key_place,
            value_place, of_query_place, of_key_place, of_value_place, scale,
            CAUSAL, WIDTH, BLOCK, SIZE, BIAS,
        )  # fmt: skip
    elif tl.maximum(queries, keys) > 0:
        once.backward(
            gradient, query, key, value, log_sums, of_query, of_key, of_value, of_bias,
            query_numbers, key_numbers, queries, keys, row, query_place, key_place,
            value_place, of_query_place, of_key_place, of_value_place, scale,
            CAUSAL, WIDTH, BLOCK, BIAS,
        )  # fmt: skip
    elif BIAS:
        nothing = tl.zeros([WIDTH], tl.float32)
        once.put_sums(of_bias, row, nothing, nothing, WIDTH)
