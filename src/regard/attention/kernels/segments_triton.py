"""The Triton side of `segments`: imported only where there is a GPU to run it."""

from __future__ import annotations

from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

FORWARD_WARPS = {32: 2, 64: 4}
LONG = 48  # places a sequence, from where a large tile is fuller than two small ones
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
@no_type_check
def _tile(base, place, stride, count, WIDTH: tl.constexpr):
    """Rows `place` of one head, zeros from `count` on."""
    columns = tl.arange(0, WIDTH)
    return tl.load(
        base + place[:, None] * stride + columns[None, :], mask=place[:, None] < count, other=0.0
    )


@triton.jit
@no_type_check
def _put(base, place, stride, count, values, WIDTH: tl.constexpr):
    columns = tl.arange(0, WIDTH)
    pointer = base + place[:, None] * stride + columns[None, :]
    tl.store(pointer, values.to(base.dtype.element_ty), mask=place[:, None] < count)


@triton.jit
@no_type_check
def _clear(base, first, places, stride, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    """Zeros behind the last sequence: what is not there must not be NaN either."""
    for start in range(first, places, BLOCK):
        place = start + tl.arange(0, BLOCK)
        nothing = tl.zeros([BLOCK, WIDTH], tl.float32)
        _put(base, place, stride, places, nothing, WIDTH)


@triton.jit
@no_type_check
def _scores(query, key, rows, columns, queries, keys, scale, CAUSAL: tl.constexpr):
    """Scores in base 2, -inf where a query may not look."""
    scores = tl.dot(query, tl.trans(key), input_precision="ieee") * (scale * LOG2_E)
    allowed = (columns[None, :] < keys) & (rows[:, None] < queries)
    if CAUSAL:
        allowed = allowed & (columns[None, :] <= rows[:, None])
    return tl.where(allowed, scores, float("-inf"))


@triton.jit
@no_type_check
def _forward(
    query,
    key,
    value,
    context,
    log_sums,
    query_starts,
    key_starts,
    query_head,
    query_place,
    key_head,
    key_place,
    value_head,
    value_place,
    places,
    scale,
    CAUSAL: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    segment, head, heads = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    first, after = tl.load(query_starts + segment), tl.load(query_starts + segment + 1)
    key_first, key_after = tl.load(key_starts + segment), tl.load(key_starts + segment + 1)
    queries, keys = after - first, key_after - key_first
    query += head * query_head + first.to(tl.int64) * query_place
    key += head * key_head + key_first.to(tl.int64) * key_place
    value += head * value_head + key_first.to(tl.int64) * value_place
    own = context + head * WIDTH + first.to(tl.int64) * heads * WIDTH
    for start in range(0, queries, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        asked = _tile(query, rows, query_place, queries, WIDTH)
        highest = tl.full([BLOCK], float("-inf"), tl.float32)
        total = tl.zeros([BLOCK], tl.float32)
        found = tl.zeros([BLOCK, WIDTH], tl.float32)
        end = keys
        if CAUSAL:
            end = tl.minimum(keys, start + BLOCK)
        for key_start in range(0, end, BLOCK):
            columns = key_start + tl.arange(0, BLOCK)
            tile = _tile(key, columns, key_place, keys, WIDTH)
            scores = _scores(asked, tile, rows, columns, queries, keys, scale, CAUSAL)
            higher = tl.maximum(highest, tl.max(scores, 1))
            level = tl.where(higher == float("-inf"), 0.0, higher)
            weights = tl.exp2(scores - level[:, None])
            fade = tl.exp2(highest - level)
            values = _tile(value, columns, value_place, keys, WIDTH)
            total = total * fade + tl.sum(weights, 1)
            found = found * fade[:, None]
            found += tl.dot(weights.to(values.dtype), values, input_precision="ieee")
            highest = higher
        some = total > 0
        found = found / tl.where(some, total, 1.0)[:, None]
        _put(own, rows, heads * WIDTH, queries, found, WIDTH)
        log_sum = tl.where(some, highest + tl.log2(tl.where(some, total, 1.0)), 0.0)
        tl.store(log_sums + head * places + first + rows, log_sum, mask=rows < queries)
    if segment == tl.num_programs(0) - 1:
        _clear(context + head * WIDTH, after, places, heads * WIDTH, BLOCK, WIDTH)


@triton.jit
@no_type_check
def _pull(
    asked,
    tile,
    values,
    gradient,
    context,
    log_sums,
    rows,
    columns,
    queries,
    keys,
    places_before,
    scale,
    CAUSAL: tl.constexpr,
):
    """Weights of one tile, and how its scores should move."""
    scores = _scores(asked, tile, rows, columns, queries, keys, scale, CAUSAL)
    level = tl.load(log_sums + places_before + rows, mask=rows < queries, other=0.0)
    weights = tl.exp2(scores - level[:, None])
    mean = tl.sum(gradient.to(tl.float32) * context.to(tl.float32), 1)
    moved = tl.dot(gradient, tl.trans(values), input_precision="ieee")
    return weights, weights * (moved - mean[:, None]) * scale


@triton.jit
@no_type_check
def _backward(
    gradient,
    query,
    key,
    value,
    context,
    log_sums,
    of_query,
    of_key,
    of_value,
    query_starts,
    key_starts,
    query_head,
    query_place,
    key_head,
    key_place,
    value_head,
    value_place,
    of_query_place,
    of_key_place,
    of_value_place,
    places,
    key_places,
    scale,
    CAUSAL: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    segment, head, heads = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    first, after = tl.load(query_starts + segment), tl.load(query_starts + segment + 1)
    key_first, key_after = tl.load(key_starts + segment), tl.load(key_starts + segment + 1)
    queries, keys = after - first, key_after - key_first
    query += head * query_head + first.to(tl.int64) * query_place
    key += head * key_head + key_first.to(tl.int64) * key_place
    value += head * value_head + key_first.to(tl.int64) * value_place
    row = heads * WIDTH
    own = head * WIDTH + first.to(tl.int64) * row
    of_query += head * WIDTH
    of_key += head * WIDTH
    of_value += head * WIDTH
    of_own_query = of_query + first.to(tl.int64) * of_query_place
    of_own_key = of_key + key_first.to(tl.int64) * of_key_place
    of_own_value = of_value + key_first.to(tl.int64) * of_value_place
    before = head * places + first
    for key_start in range(0, keys, BLOCK):
        columns = key_start + tl.arange(0, BLOCK)
        tile = _tile(key, columns, key_place, keys, WIDTH)
        values = _tile(value, columns, value_place, keys, WIDTH)
        key_moves = tl.zeros([BLOCK, WIDTH], tl.float32)
        value_moves = tl.zeros([BLOCK, WIDTH], tl.float32)
        begin = 0
        if CAUSAL:
            begin = key_start
        for start in range(begin, queries, BLOCK):
            rows = start + tl.arange(0, BLOCK)
            asked = _tile(query, rows, query_place, queries, WIDTH)
            pulled = _tile(gradient + own, rows, row, queries, WIDTH)
            read = _tile(context + own, rows, row, queries, WIDTH)
            weights, moves = _pull(
                asked, tile, values, pulled, read, log_sums, rows, columns, queries, keys, before,
                scale, CAUSAL,
            )  # fmt: skip
            value_moves += tl.dot(
                tl.trans(weights).to(pulled.dtype), pulled, input_precision="ieee"
            )
            key_moves += tl.dot(tl.trans(moves).to(asked.dtype), asked, input_precision="ieee")
            if keys <= BLOCK:  # the whole sequence is here: queries get theirs at once
                query_moves = tl.dot(moves.to(tile.dtype), tile, input_precision="ieee")
                _put(of_own_query, rows, of_query_place, queries, query_moves, WIDTH)
        _put(of_own_key, columns, of_key_place, keys, key_moves, WIDTH)
        _put(of_own_value, columns, of_value_place, keys, value_moves, WIDTH)
    if keys > BLOCK or keys == 0:
        for start in range(0, queries, BLOCK):
            rows = start + tl.arange(0, BLOCK)
            asked = _tile(query, rows, query_place, queries, WIDTH)
            pulled = _tile(gradient + own, rows, row, queries, WIDTH)
            read = _tile(context + own, rows, row, queries, WIDTH)
            query_sum = tl.zeros([BLOCK, WIDTH], tl.float32)
            end = keys
            if CAUSAL:
                end = tl.minimum(keys, start + BLOCK)
            for key_start in range(0, end, BLOCK):
                columns = key_start + tl.arange(0, BLOCK)
                tile = _tile(key, columns, key_place, keys, WIDTH)
                values = _tile(value, columns, value_place, keys, WIDTH)
                _, moves = _pull(
                    asked, tile, values, pulled, read, log_sums, rows, columns, queries, keys, before,
                    scale, CAUSAL,
                )  # fmt: skip
                query_sum += tl.dot(moves.to(tile.dtype), tile, input_precision="ieee")
            _put(of_own_query, rows, of_query_place, queries, query_sum, WIDTH)
    if segment == tl.num_programs(0) - 1:
        _clear(of_query, after, places, of_query_place, BLOCK, WIDTH)
        _clear(of_key, key_after, key_places, of_key_place, BLOCK, WIDTH)
        _clear(of_value, key_after, key_places, of_value_place, BLOCK, WIDTH)


def _block(query: Tensor, starts: Tensor) -> int:
    """The side of a tile: what most sequences fill, and what fits on the chip."""
    places, width = query.shape[2:]
    is_long = places >= LONG * (len(starts) - 1)
    return 64 if is_long and width * query.element_size() <= 256 else 32


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
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """Context (place, heads, width) and base-2 logs of the sums (heads, place)."""
    query, key, value = map(_together, (query, key, value))
    _, heads, places, width = query.shape
    block = _block(query, query_starts)
    context = query.new_empty(places, heads, width)
    log_sums = query.new_empty(heads, places, dtype=torch.float32)
    _forward[(len(query_starts) - 1, heads)](
        query, key, value, context, log_sums, query_starts, key_starts,
        *_strides(query, key, value), places, scale,
        CAUSAL=causal, WIDTH=width, BLOCK=block, num_warps=FORWARD_WARPS[block], num_stages=1,
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
    causal: bool,
    scale: float,
    into: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of queries, keys and values, each (place, heads, width).

    `into` says where else to write them, each (1, heads, place, width), heads side by side.
    """
    query, key, value = map(_together, (query, key, value))
    _, heads, places, width = query.shape
    block = _block(query, query_starts)
    if into is None:
        of_query = query.new_empty(places, heads, width)
        of_key, of_value = (key.new_empty(key.shape[2], heads, width) for _ in range(2))
    else:
        of_query, of_key, of_value = (one[0].transpose(0, 1) for one in into)
    found = of_query, of_key, of_value
    _backward[(len(query_starts) - 1, heads)](
        gradient, query, key, value, context, log_sums, *found, query_starts, key_starts,
        *_strides(query, key, value), *(one.stride(0) for one in found), places, key.shape[2], scale,
        CAUSAL=causal, WIDTH=width, BLOCK=block, num_warps=4, num_stages=1,
    )  # fmt: skip
    return found
