"""The kernels of `segments`: for sequences that fit into a tile, or (`TILED`) for longer ones.

A program goes through `EACH` sequences, and passes over those that are not of its kind.
"""

from __future__ import annotations

from typing import no_type_check

import triton
import triton.language as tl

from regard.attention.kernels import segments_once_triton as once
from regard.attention.kernels import segments_tiles_triton as tiles


@triton.jit
@no_type_check
def _bounds(query_starts, key_starts, segment, segments):
    """Where a sequence begins on both sides, and how many places it has there; 0 behind the last one."""
    real = segment < segments
    first = tl.load(query_starts + segment, mask=real, other=0)
    after = tl.load(query_starts + segment + 1, mask=real, other=0)
    key_first = tl.load(key_starts + segment, mask=real, other=0)
    key_after = tl.load(key_starts + segment + 1, mask=real, other=0)
    return first, key_first, after - first, key_after - key_first


@triton.jit
@no_type_check
def _at(base, head, head_stride, place, place_stride):
    return base + head * head_stride + place.to(tl.int64) * place_stride


@triton.jit
@no_type_check
def _is_ours(longer, part, BLOCK: tl.constexpr, LEAST: tl.constexpr, TILED: tl.constexpr):
    """Whether a sequence so long is for this kernel, and has a tile for this part of its programs."""
    return (longer > tl.maximum(LEAST, part * BLOCK)) & (TILED | (longer <= BLOCK))


@triton.jit
@no_type_check
def _clear(base, starts, segments, places, stride, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    """Zeros behind the last sequence: what is not there must not be NaN either."""
    for start in range(tl.load(starts + segments), places, BLOCK):
        place = start + tl.arange(0, BLOCK)
        nothing = tl.zeros([BLOCK, WIDTH], tl.float32)
        once.put(base, place, stride, places, nothing, WIDTH)


@triton.jit
@no_type_check
def _no_sums(base, row, WIDTH: tl.constexpr):
    nothing = tl.zeros([WIDTH], tl.float32)
    once.put_sums(base, row, nothing, nothing, WIDTH)
    tl.debug_barrier()  # before anything is added


@triton.jit
@no_type_check
def forward(
    query, key, value, context, log_sums, query_starts, key_starts,
    query_head, query_place, key_head, key_place, value_head, value_place, places, scale, segments,
    CAUSAL: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, LEAST: tl.constexpr,
    EACH: tl.constexpr, TILED: tl.constexpr,
):  # fmt: skip
    """The context of sequences of more than `LEAST` places."""
    head, row = tl.program_id(1), tl.num_programs(1) * WIDTH
    part, parts = tl.program_id(2), tl.num_programs(2)
    for turn in tl.range(EACH, disable_licm=True):
        segment = tl.program_id(0) * EACH + turn
        first, key_first, queries, keys = _bounds(query_starts, key_starts, segment, segments)
        if _is_ours(tl.maximum(queries, keys), part, BLOCK, LEAST, TILED):
            asked = _at(query, head, query_head, first, query_place)
            told = _at(key, head, key_head, key_first, key_place)
            values = _at(value, head, value_head, key_first, value_place)
            own = _at(context, head, WIDTH, first, row)
            sums = log_sums + head * places + first
            if TILED:
                tiles.forward(
                    asked, told, values, own, sums, queries, keys, part, parts,
                    query_place, key_place, value_place, row, scale, CAUSAL, WIDTH, BLOCK,
                )  # fmt: skip
            else:
                once.forward(
                    asked, told, values, own, sums, queries, keys,
                    query_place, key_place, value_place, row, scale, CAUSAL, WIDTH, BLOCK,
                )  # fmt: skip
    if (LEAST == 0) & (tl.program_id(0) == 0):
        _clear(context + head * WIDTH, query_starts, segments, places, row, BLOCK, WIDTH)


@triton.jit
@no_type_check
def backward(
    gradient, query, key, value, context, log_sums, of_query, of_key, of_value, of_bias,
    query_starts, key_starts, query_head, query_place, key_head, key_place, value_head, value_place,
    of_query_place, of_key_place, of_value_place, places, key_places, scale, segments,
    CAUSAL: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, LEAST: tl.constexpr,
    EACH: tl.constexpr, TILED: tl.constexpr, BIAS: tl.constexpr,
):  # fmt: skip
    """All three gradients of sequences of more than `LEAST` places, and a program's share of the biases'."""
    head, row = tl.program_id(1), tl.num_programs(1) * WIDTH
    part, parts = tl.program_id(2), tl.num_programs(2)
    ALONE: tl.constexpr = (
        EACH == 1 and not TILED
    )  # one sequence, and one tile: its sums are the program's
    if BIAS:
        of_bias = _at(of_bias, head, WIDTH, tl.program_id(0) * parts + part, 3 * row)
        if not ALONE:
            _no_sums(of_bias, row, WIDTH)
    for turn in tl.range(EACH, disable_licm=True):
        segment = tl.program_id(0) * EACH + turn
        first, key_first, queries, keys = _bounds(query_starts, key_starts, segment, segments)
        if _is_ours(tl.maximum(queries, keys), part, BLOCK, LEAST, TILED):
            pulled = _at(gradient, head, WIDTH, first, row)
            asked = _at(query, head, query_head, first, query_place)
            told = _at(key, head, key_head, key_first, key_place)
            values = _at(value, head, value_head, key_first, value_place)
            sums = log_sums + head * places + first
            of_asked = _at(of_query, head, WIDTH, first, of_query_place)
            of_told = _at(of_key, head, WIDTH, key_first, of_key_place)
            of_values = _at(of_value, head, WIDTH, key_first, of_value_place)
            if TILED:
                read = _at(context, head, WIDTH, first, row)
                tiles.backward(
                    pulled, asked, told, values, read, sums, of_asked, of_told, of_values, of_bias,
                    queries, keys, part, parts, row, query_place, key_place, value_place,
                    of_query_place, of_key_place, of_value_place, scale, CAUSAL, WIDTH, BLOCK, BIAS,
                )  # fmt: skip
            else:
                once.backward(
                    pulled, asked, told, values, sums, of_asked, of_told, of_values, of_bias,
                    queries, keys, row, query_place, key_place, value_place,
                    of_query_place, of_key_place, of_value_place, scale, CAUSAL, WIDTH, BLOCK, BIAS, ALONE,
                )  # fmt: skip
        elif BIAS and ALONE:
            _no_sums(of_bias, row, WIDTH)
    if (LEAST == 0) & (tl.program_id(0) == 0):
        _clear(
            of_query + head * WIDTH, query_starts, segments, places, of_query_place, BLOCK, WIDTH
        )
        _clear(of_key + head * WIDTH, key_starts, segments, key_places, of_key_place, BLOCK, WIDTH)
        _clear(
            of_value + head * WIDTH, key_starts, segments, key_places, of_value_place, BLOCK, WIDTH
        )
