"""Packed attention over a share of the work that is larger than a tile: a program for each of its tiles.

Where tiles on the chip are smaller than `SIZE`, by which work is shared out, a program goes through a few.
"""

from __future__ import annotations

from typing import no_type_check

import triton
import triton.language as tl

from regard.accelerate.triton.segments_once_kernels import (
    numbers_of,
    put,
    put_sums,
    scores_of,
    tile,
)


@triton.jit
@no_type_check
def forward(
    query, key, value, context, log_sums, query_numbers, key_numbers, queries, keys, part,
    query_place, key_place, value_place, context_place, scale,
    CAUSAL: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """Tile `part` of the queries of one head of one share, which is given from where it begins."""
    for start in range(part * SIZE, tl.minimum(queries, (part + 1) * SIZE), BLOCK):
        rows = start + tl.arange(0, BLOCK)
        query_of = numbers_of(query_numbers, rows, queries, -1)
        query_tile = tile(query, rows, query_place, queries, WIDTH)
        highest = tl.full([BLOCK], float("-inf"), tl.float32)
        total = tl.zeros([BLOCK], tl.float32)
        mixed = tl.zeros([BLOCK, WIDTH], tl.float32)
        end = keys
        if CAUSAL:
            end = tl.minimum(keys, start + BLOCK)
        for key_start in range(0, end, BLOCK):
            columns = key_start + tl.arange(0, BLOCK)
            key_of = numbers_of(key_numbers, columns, keys, -2)
            key_tile = tile(key, columns, key_place, keys, WIDTH)
            values = tile(value, columns, value_place, keys, WIDTH)
            scores = scores_of(query_tile, key_tile, query_of, key_of, rows, columns, scale, CAUSAL)
            higher = tl.maximum(highest, tl.max(scores, 1))
            level = tl.where(higher == float("-inf"), 0.0, higher)
            weights = tl.exp2(scores - level[:, None])
            fade = tl.exp2(highest - level)
            total = total * fade + tl.sum(weights, 1)
            mixed = mixed * fade[:, None]
            mixed += tl.dot(weights.to(values.dtype), values, input_precision="ieee")
            highest = higher
        some = total > 0
        total = tl.where(some, total, 1.0)
        put(context, rows, context_place, queries, mixed * (1.0 / total)[:, None], WIDTH)
        log_sum = tl.where(some, highest + tl.log2(total), 0.0)
        tl.store(log_sums + rows, log_sum, mask=rows < queries)


@triton.jit
@no_type_check
def _pull(
    asked, told, values, pulled, context, log_sums, query_of, key_of, rows, columns, queries,
    scale, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Weights of one tile, and how its scores should move."""
    scores = scores_of(asked, told, query_of, key_of, rows, columns, scale, CAUSAL)
    level = tl.load(log_sums + rows, mask=rows < queries, other=0.0)
    weights = tl.exp2(scores - level[:, None])
    mean = tl.sum(pulled.to(tl.float32) * context.to(tl.float32), 1)
    moved = tl.dot(pulled, tl.trans(values), input_precision="ieee")
    return weights, (weights * (moved - mean[:, None]) * scale).to(asked.dtype)


@triton.jit
@no_type_check
def backward(
    gradient, query, key, value, context, log_sums, of_query, of_key, of_value, of_bias,
    query_numbers, key_numbers, queries, keys, part, gradient_place, query_place, key_place,
    value_place, of_query_place, of_key_place, of_value_place, scale,
    CAUSAL: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, SIZE: tl.constexpr,
    BIAS: tl.constexpr,
):  # fmt: skip
    """Gradients of tile `part` of the keys and values of one head of one share, then of its queries."""
    query_sum, value_sum = tl.zeros([WIDTH], tl.float32), tl.zeros([WIDTH], tl.float32)
    for key_start in range(part * SIZE, tl.minimum(keys, (part + 1) * SIZE), BLOCK):
        columns = key_start + tl.arange(0, BLOCK)
        key_of = numbers_of(key_numbers, columns, keys, -2)
        key_tile = tile(key, columns, key_place, keys, WIDTH)
        values = tile(value, columns, value_place, keys, WIDTH)
        key_moves = tl.zeros([BLOCK, WIDTH], tl.float32)
        value_moves = tl.zeros([BLOCK, WIDTH], tl.float32)
        begin = 0
        if CAUSAL:
            begin = key_start
        for start in range(begin, queries, BLOCK):
            rows = start + tl.arange(0, BLOCK)
            query_of = numbers_of(query_numbers, rows, queries, -1)
            query_tile = tile(query, rows, query_place, queries, WIDTH)
            pulled = tile(gradient, rows, gradient_place, queries, WIDTH)
            read = tile(context, rows, gradient_place, queries, WIDTH)
            weights, moves = _pull(
                query_tile, key_tile, values, pulled, read, log_sums, query_of, key_of, rows, columns,
                queries, scale, CAUSAL,
            )  # fmt: skip
            value_moves += tl.dot(
                tl.trans(weights.to(pulled.dtype)), pulled, input_precision="ieee"
            )
            key_moves += tl.dot(tl.trans(moves), query_tile, input_precision="ieee")
        put(of_key, columns, of_key_place, keys, key_moves, WIDTH)
        put(of_value, columns, of_value_place, keys, value_moves, WIDTH)
        value_sum += tl.sum(value_moves, 0)
    for start in range(part * SIZE, tl.minimum(queries, (part + 1) * SIZE), BLOCK):
        rows = start + tl.arange(0, BLOCK)
        query_of = numbers_of(query_numbers, rows, queries, -1)
        query_tile = tile(query, rows, query_place, queries, WIDTH)
        pulled = tile(gradient, rows, gradient_place, queries, WIDTH)
        read = tile(context, rows, gradient_place, queries, WIDTH)
        query_moves = tl.zeros([BLOCK, WIDTH], tl.float32)
        end = keys
        if CAUSAL:
            end = tl.minimum(keys, start + BLOCK)
        for key_start in range(0, end, BLOCK):
            columns = key_start + tl.arange(0, BLOCK)
            key_of = numbers_of(key_numbers, columns, keys, -2)
            key_tile = tile(key, columns, key_place, keys, WIDTH)
            values = tile(value, columns, value_place, keys, WIDTH)
            _, moves = _pull(
                query_tile, key_tile, values, pulled, read, log_sums, query_of, key_of, rows, columns,
                queries, scale, CAUSAL,
            )  # fmt: skip
            query_moves += tl.dot(moves, key_tile, input_precision="ieee")
        put(of_query, rows, of_query_place, queries, query_moves, WIDTH)
        query_sum += tl.sum(query_moves, 0)
    if BIAS:
        put_sums(of_bias, gradient_place, query_sum, value_sum, WIDTH)
