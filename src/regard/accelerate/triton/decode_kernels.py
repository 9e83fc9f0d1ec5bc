"""The operations of a step as Triton kernels: one launch each, nothing formed in between.

A hypothesis is one row of a matrix, `row * slots + slot`. Sums are kept in float32. Positions and lengths are
read from the GPU's memory, so that one recording serves every step; loops end where the data ends.
"""

from __future__ import annotations

from typing import Any, no_type_check

import triton
import triton.language as tl


@triton.jit
@no_type_check
def embed_kernel(
    tokens,
    position,
    table,
    places,
    base,
    scale,
    slots,
    width: tl.constexpr,
    block: tl.constexpr,
):
    """Base = table[token] * scale + places[position]."""
    hypothesis = tl.program_id(0)
    at = tl.arange(0, block)
    real = at < width
    token = tl.load(tokens + hypothesis).to(tl.int64)
    place = tl.load(position + hypothesis // slots)
    embedded = tl.load(table + token * width + at, mask=real, other=0.0).to(tl.float32) * scale
    embedded += tl.load(places + place * width + at, mask=real, other=0.0)
    tl.store(base + hypothesis * width + at, embedded, mask=real)


@triton.jit
@no_type_check
def norm_kernel(
    base,
    change,
    weight,
    bias,
    seen,
    eps,
    width: tl.constexpr,
    block: tl.constexpr,
    has_change: tl.constexpr,
    has_norm: tl.constexpr,
    is_post: tl.constexpr,
):
    """Base += change; seen = norm(base); in post-norm base = seen."""
    hypothesis = tl.program_id(0)
    at = tl.arange(0, block)
    real = at < width
    states = tl.load(base + hypothesis * width + at, mask=real, other=0.0)
    if has_change:
        states += tl.load(change + hypothesis * width + at, mask=real, other=0.0).to(tl.float32)
    normed = states
    if has_norm:
        mean = tl.sum(states, axis=0) / width
        centred = tl.where(real, states - mean, 0.0)
        spread = tl.sum(centred * centred, axis=0) / width
        gain = tl.load(weight + at, mask=real, other=0.0)
        shift = tl.load(bias + at, mask=real, other=0.0)
        normed = centred * (1.0 / tl.sqrt(spread + eps)) * gain + shift
    tl.store(seen + hypothesis * width + at, normed.to(seen.dtype.element_ty), mask=real)
    if is_post:
        tl.store(base + hypothesis * width + at, normed, mask=real)
    elif has_change:
        tl.store(base + hypothesis * width + at, states, mask=real)


@triton.jit
@no_type_check
def recall_kernel(
    found,
    keys,
    values,
    ancestors,
    position,
    is_open,
    context,
    scale,
    slots: tl.constexpr,
    positions: tl.constexpr,
    heads: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
    reach: tl.constexpr,
):
    """One head of one hypothesis: append its key and value, then attend along its line of ancestors."""
    hypothesis, head = tl.program_id(0), tl.program_id(1)
    row, slot = (hypothesis // slots).to(tl.int64), hypothesis % slots
    at = tl.arange(0, block)
    real = at < width
    own = found + hypothesis * 3 * heads * width + head * width + at
    query = tl.load(own, mask=real, other=0.0).to(tl.float32) * scale
    new_key = tl.load(own + heads * width, mask=real, other=0.0)
    new_value = tl.load(own + 2 * heads * width, mask=real, other=0.0)
    goes_on = tl.load(is_open + row) != 0
    place = tl.load(position + row)
    write = ((row * positions + place) * slots + slot) * heads * width + head * width + at
    tl.store(keys + write, new_key, mask=real & goes_on)
    tl.store(values + write, new_value, mask=real & goes_on)
    top = tl.sum(query * new_key.to(tl.float32), axis=0)
    total = top * 0.0 + 1.0
    sums = new_value.to(tl.float32)
    for start in range(0, tl.where(goes_on, place, 0), reach):
        before = start + tl.arange(0, reach)
        earlier = before < place
        held = tl.zeros([reach], tl.int32)
        if slots > 1:
            held = tl.load(ancestors + hypothesis * positions + before, mask=earlier, other=0)
        line = ((row * positions + before) * slots + held) * heads * width + head * width
        where = line[:, None] + at[None, :]
        some = earlier[:, None] & real[None, :]
        key = tl.load(keys + where, mask=some, other=0.0).to(tl.float32)
        value = tl.load(values + where, mask=some, other=0.0).to(tl.float32)
        scores = tl.where(earlier, tl.sum(query[None, :] * key, axis=1), float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=0))
        shares = tl.exp(scores - new_top)
        fade = tl.exp(top - new_top)
        total = total * fade + tl.sum(shares, axis=0)
        sums = sums * fade + tl.sum(shares[:, None] * value, axis=0)
        top = new_top
    out = context + hypothesis * heads * width + head * width + at
    tl.store(out, (sums / total).to(context.dtype.element_ty), mask=real)


@triton.jit
@no_type_check
def consult_one_kernel(
    asked,
    memory,
    lengths,
    context,
    scale,
    row_stride: tl.constexpr,
    source_stride: tl.constexpr,
    heads: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
    reach: tl.constexpr,
):
    """One head of one row with one slot: attend to the source."""
    row, head = tl.program_id(0), tl.program_id(1)
    at = tl.arange(0, block)
    real = at < width
    query = tl.load(asked + (row * heads + head) * width + at, mask=real, other=0.0)
    query = query.to(tl.float32) * scale
    length = tl.load(lengths + row)
    line = memory + row.to(tl.int64) * row_stride + head * width
    top = tl.sum(query, axis=0) * 0.0 - 1e30  # below any score, and not -inf: inf - inf is NaN
    total = top * 0.0
    sums = query * 0.0
    for start in range(0, length, reach):
        source = start + tl.arange(0, reach)
        known = source < length
        where = source[:, None] * source_stride + at[None, :]
        some = known[:, None] & real[None, :]
        key = tl.load(line + where, mask=some, other=0.0).to(tl.float32)
        value = tl.load(line + heads * width + where, mask=some, other=0.0).to(tl.float32)
        scores = tl.where(known, tl.sum(query[None, :] * key, axis=1), float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=0))
        shares = tl.exp(scores - new_top)
        fade = tl.exp(top - new_top)
        total = total * fade + tl.sum(shares, axis=0)
        sums = sums * fade + tl.sum(shares[:, None] * value, axis=0)
        top = new_top
    out = context + (row * heads + head) * width + at
    mixed = tl.where(total > 0, sums / tl.maximum(total, 1e-30), 0.0)
    tl.store(out, mixed.to(context.dtype.element_ty), mask=real)


@triton.jit
@no_type_check
def consult_kernel(
    asked,
    memory,
    lengths,
    context,
    scale,
    row_stride: tl.constexpr,
    source_stride: tl.constexpr,
    slots: tl.constexpr,
    places: tl.constexpr,
    heads: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
    reach: tl.constexpr,
):
    """One head of one row: its slots are queries side by side, over keys that are loaded once."""
    row, head = tl.program_id(0), tl.program_id(1)
    at, slot = tl.arange(0, block), tl.arange(0, places)
    real = at < width
    own = ((row * slots + slot[:, None]) * heads + head) * width + at[None, :]
    mine = (slot < slots)[:, None] & real[None, :]
    query = tl.load(asked + own, mask=mine, other=0.0)
    length = tl.load(lengths + row)
    line = memory + row.to(tl.int64) * row_stride + head * width
    top = tl.zeros([places], tl.float32) - 1e30
    total = tl.zeros([places], tl.float32)
    sums = tl.zeros([places, block], tl.float32)
    for start in range(0, length, reach):
        source = start + tl.arange(0, reach)
        known = source < length
        where = source[:, None] * source_stride + at[None, :]
        some = known[:, None] & real[None, :]
        key = tl.load(line + where, mask=some, other=0.0)
        value = tl.load(line + heads * width + where, mask=some, other=0.0)
        scores = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
        scores = tl.where(known[None, :], scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        shares = tl.exp(scores - new_top[:, None])
        fade = tl.exp(top - new_top)
        total = total * fade + tl.sum(shares, axis=1)
        sums = sums * fade[:, None]
        sums += tl.dot(shares.to(value.dtype), value, input_precision="ieee")
        top = new_top
    mixed = sums / tl.maximum(total, 1e-30)[:, None]
    tl.store(context + own, mixed.to(context.dtype.element_ty), mask=mine)


@triton.jit
@no_type_check
def narrow_kernel(
    states,
    weight,
    bias,
    gain,
    shift,
    residual,
    normed,
    out,
    eps,
    outs,
    rows: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
    lines: tl.constexpr,
    has_bias: tl.constexpr,
    has_norm: tl.constexpr,
    keeps: tl.constexpr,
    has_residual: tl.constexpr,
    has_relu: tl.constexpr,
):
    """Out = relu(W norm(states) + b) + residual, `lines` outputs a program, for a handful of rows.

    Every program normalises for itself: that is cheaper than one more launch.
    """
    line = tl.program_id(0) * lines + tl.arange(0, lines)
    at = tl.arange(0, block)
    real, wanted = at < width, line < outs
    matrix = tl.load(
        weight + line[:, None] * width + at[None, :],
        mask=wanted[:, None] & real[None, :],
        other=0.0,
    )
    for row in tl.static_range(rows):
        seen = tl.load(states + row * width + at, mask=real, other=0.0).to(tl.float32)
        if has_norm:
            mean = tl.sum(seen, axis=0) / width
            centred = tl.where(real, seen - mean, 0.0)
            spread = tl.sum(centred * centred, axis=0) / width
            scale = tl.load(gain + at, mask=real, other=0.0)
            seen = centred * (1.0 / tl.sqrt(spread + eps)) * scale
            seen += tl.load(shift + at, mask=real, other=0.0)
        if keeps:
            tl.store(normed + row * width + at, seen, mask=real & (tl.program_id(0) == 0))
        seen = seen.to(weight.dtype.element_ty).to(tl.float32)
        product = tl.sum(matrix.to(tl.float32) * seen[None, :], axis=1)
        if has_bias:
            product += tl.load(bias + line, mask=wanted, other=0.0).to(tl.float32)
        if has_relu:
            product = tl.maximum(product, 0.0)
        if has_residual:
            product += tl.load(residual + row * outs + line, mask=wanted, other=0.0)
        tl.store(out + row * outs + line, product.to(out.dtype.element_ty), mask=wanted)


def block_of(width: int, least: int = 16) -> int:
    """The power of two that a program spreads this width over."""
    return max(least, triton.next_power_of_2(width))


def warps(width: int) -> Any:
    """Enough warps for 8 numbers a thread."""
    return min(8, max(1, block_of(width) // 256))
