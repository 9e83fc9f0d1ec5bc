"""Packed attention where a share of the work fits into one tile: no loops, and all is fetched at once.

All keys of a query are there, so that softmax is taken at once, and the backward pass needs no context:
what the gradient has in common with it, sum_j w_j (g . v_j), is a sum over the tile.
"""

from __future__ import annotations

from typing import no_type_check

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
@no_type_check
def tile(base, place, stride, count, WIDTH: tl.constexpr):
    """Rows `place` of one head, zeros from `count` on."""
    columns = tl.arange(0, WIDTH)
    return tl.load(
        base + place[:, None] * stride + columns[None, :], mask=place[:, None] < count, other=0.0
    )


@triton.jit
@no_type_check
def put(base, place, stride, count, values, WIDTH: tl.constexpr):
    """Values into rows `place` of one head, up to `count`."""
    columns = tl.arange(0, WIDTH)
    pointer = base + place[:, None] * stride + columns[None, :]
    tl.store(pointer, values.to(base.dtype.element_ty), mask=place[:, None] < count)


@triton.jit
@no_type_check
def put_sums(base, row, query_sum, value_sum, WIDTH: tl.constexpr):
    """What one program adds to the gradients of the biases of queries, keys and values.

    A bias of the keys adds the same to all scores of a query, and softmax does not see it.
    """
    columns = tl.arange(0, WIDTH)
    tl.store(base + columns, query_sum)
    tl.store(base + row + columns, tl.zeros([WIDTH], tl.float32))
    tl.store(base + 2 * row + columns, value_sum)


@triton.jit
@no_type_check
def numbers_of(base, place, count, NONE: tl.constexpr):
    """Which sequence each place is of, `NONE` where it is of none."""
    numbers = tl.load(base + place, mask=place < count, other=NONE)
    return tl.where(numbers < 0, NONE, numbers)


@triton.jit
@no_type_check
def scores_of(query, key, query_of, key_of, rows, columns, scale, CAUSAL: tl.constexpr):
    """Scores in base 2, -inf where a query may not look: beyond its sequence, or ahead."""
    scores = tl.dot(query, tl.trans(key), input_precision="ieee") * (scale * LOG2_E)
    allowed = query_of[:, None] == key_of[None, :]
    if CAUSAL:
        allowed = allowed & (columns[None, :] <= rows[:, None])
    return tl.where(allowed, scores, float("-inf"))


@triton.jit
@no_type_check
def forward(
    query, key, value, context, log_sums, query_numbers, key_numbers, queries, keys,
    query_place, key_place, value_place, context_place, scale,
    CAUSAL: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One head of one share, from where it begins."""
    place = tl.arange(0, BLOCK)
    # Numbers are fetched with all the rest: one wait is enough.
    query_of = numbers_of(query_numbers, place, queries, -1)
    key_of = numbers_of(key_numbers, place, keys, -2)
    query_tile = tile(query, place, query_place, queries, WIDTH)
    key_tile = tile(key, place, key_place, keys, WIDTH)
    values = tile(value, place, value_place, keys, WIDTH)
    scores = scores_of(query_tile, key_tile, query_of, key_of, place, place, scale, CAUSAL)
    highest = tl.max(scores, 1)
    level = tl.where(highest == float("-inf"), 0.0, highest)
    weights = tl.exp2(scores - level[:, None])
    total = tl.sum(weights, 1)
    total = tl.where(total > 0, total, 1.0)  # without a key nothing is found, whatever it is
    mixed = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
    put(context, place, context_place, queries, mixed * (1.0 / total)[:, None], WIDTH)
    tl.store(log_sums + place, level + tl.log2(total), mask=place < queries)


@triton.jit
@no_type_check
def backward(
    gradient, query, key, value, log_sums, of_query, of_key, of_value, of_bias,
    query_numbers, key_numbers, queries, keys, gradient_place, query_place, key_place, value_place,
    of_query_place, of_key_place, of_value_place, scale,
    CAUSAL: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, BIAS: tl.constexpr,
):  # fmt: skip
    """All three gradients of one head of one share, and of what was added to all its places."""
    place = tl.arange(0, BLOCK)
    # Numbers are fetched with all the rest: one wait is enough.
    query_of = numbers_of(query_numbers, place, queries, -1)
    key_of = numbers_of(key_numbers, place, keys, -2)
    query_tile = tile(query, place, query_place, queries, WIDTH)
    key_tile = tile(key, place, key_place, keys, WIDTH)
    pulled = tile(gradient, place, gradient_place, queries, WIDTH)
    values = tile(value, place, value_place, keys, WIDTH)
    level = tl.load(log_sums + place, mask=place < queries, other=0.0)
    scores = scores_of(query_tile, key_tile, query_of, key_of, place, place, scale, CAUSAL)
    weights = tl.exp2(scores - level[:, None])
    moved = tl.dot(pulled, tl.trans(values), input_precision="ieee")
    value_moves = tl.dot(tl.trans(weights.to(pulled.dtype)), pulled, input_precision="ieee")
    put(of_value, place, of_value_place, keys, value_moves, WIDTH)
    mean = tl.sum(weights * moved, 1)
    moves = (weights * (moved - mean[:, None]) * scale).to(query_tile.dtype)
    query_moves = tl.dot(moves, key_tile, input_precision="ieee")
    put(of_query, place, of_query_place, queries, query_moves, WIDTH)
    if BIAS:
        put_sums(of_bias, gradient_place, tl.sum(query_moves, 0), tl.sum(value_moves, 0), WIDTH)
    key_moves = tl.dot(tl.trans(moves), query_tile, input_precision="ieee")
    put(of_key, place, of_key_place, keys, key_moves, WIDTH)
