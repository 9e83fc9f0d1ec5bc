"""Additive attention on a GPU, in Triton: score, softmax and sum in one pass, and the backward pass in two.

With x = W q + U k, tanh x = 1 - 2 r and r = 1 / (1 + exp(2 W q) exp(2 U k)). Exponentials are taken once a
query and once a key, the 1 cancels in softmax, and a/b + c/d = (a d + b c) / (b d): so two neurons of a pair
ask the special-function unit for one reciprocal, where two tanh would ask it twice.

Shapes: `rows` = batch x heads. Levels are 2 log2(e) W q and 2 log2(e) U k; powers are 2^level.
"""

from __future__ import annotations

from typing import no_type_check

import triton
import triton.language as tl

# Two factors 1 + 2^x, x below this, still have a float32 product; x beyond it takes the slower way.
FARTHEST = tl.constexpr(62.0)
TO_LEVEL = tl.constexpr(2.8853900817779268)  # 2 log2(e)


@triton.jit
@no_type_check
def reciprocal(x, HARDWARE: tl.constexpr):
    """1 / x, on NVIDIA as the one instruction it can be (within 1 unit in the last place)."""
    if HARDWARE:
        return tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    return 1.0 / x


@triton.jit
@no_type_check
def keys_of(block, first, before, after, length, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr):
    """The blocks of keys that a block of queries can see some of."""
    start = first + block * BLOCK_Q
    low = tl.maximum(start - before, 0) // BLOCK_K
    high = tl.maximum(tl.minimum(length, start + BLOCK_Q + after), 0)
    return low, tl.cdiv(high, BLOCK_K)


@triton.jit
@no_type_check
def queries_of(block, first, before, after, length, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr):
    """The blocks of queries that can see some of a block of keys: the same pairs as `keys_of`."""
    start = block * BLOCK_K
    low = tl.maximum(start - after - first, 0) // BLOCK_Q
    high = tl.where(start < length, tl.maximum(start + BLOCK_K + before - first, 0), 0)
    return low, tl.cdiv(high, BLOCK_Q)


@triton.jit
@no_type_check
def prepare(
    states,
    level,
    power,
    reach,
    length,
    heads,
    width,
    stride_batch,
    stride_head,
    stride_position,
    stride_neuron,
    out_row,
    out_position,
    out_neuron,
    ROOM: tl.constexpr,
    NEURONS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Levels and powers of the states, and how far from 0 the levels of each block of positions reach."""
    block, row = tl.program_id(0), tl.program_id(1).to(tl.int64)
    position = block * BLOCK + tl.arange(0, BLOCK)[:, None]
    source = states + (row // heads) * stride_batch + (row % heads) * stride_head
    farthest = 0.0
    for start in range(0, ROOM, NEURONS):
        neuron = start + tl.arange(0, NEURONS)[None, :]
        real = (position < length) & (neuron < width)
        place = position * stride_position + neuron * stride_neuron
        scaled = tl.load(source + place, mask=real, other=0.0).to(tl.float32) * TO_LEVEL
        target = row * out_row + position * out_position + neuron * out_neuron
        tl.store(level + target, scaled, mask=neuron < ROOM)
        tl.store(power + target, tl.exp2(scaled), mask=neuron < ROOM)
        farthest = tl.maximum(farthest, tl.max(tl.abs(scaled)))
    tl.store(reach + row * tl.num_programs(0) + block, farthest)


@triton.jit
@no_type_check
def scores(
    query_level,
    query_power,
    key_level,
    key_power,
    weight,
    far,
    query_stride,
    key_stride,
    width,
    ROOM: tl.constexpr,
    ODD: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    UNROLL: tl.constexpr,
    HARDWARE: tl.constexpr,
):
    """log2(e) v . (tanh(W q + U k) - 1) for one block of queries and one of keys, a neuron pair at a time."""
    sums = tl.zeros((BLOCK_Q, BLOCK_K), tl.float32)
    if far:
        for neuron in range(0, ROOM):
            own = tl.load(query_level + neuron * query_stride)
            other = tl.load(key_level + neuron * key_stride)
            value = tl.load(weight + neuron, mask=neuron < width, other=0.0).to(tl.float32)
            sums += value / (1.0 + tl.exp2(own[:, None] + other[None, :]))
    else:
        for neuron in tl.range(0, ROOM, 2, loop_unroll_factor=UNROLL):
            value0 = tl.load(weight + neuron).to(tl.float32)
            if ODD:
                value1 = tl.load(weight + neuron + 1, mask=neuron + 1 < width, other=0.0)
            else:
                value1 = tl.load(weight + neuron + 1)
            value1 = value1.to(tl.float32)
            own0 = tl.load(query_power + neuron * query_stride)
            own1 = tl.load(query_power + (neuron + 1) * query_stride)
            other0 = tl.load(key_power + neuron * key_stride)
            other1 = tl.load(key_power + (neuron + 1) * key_stride)
            below0 = own0[:, None] * other0[None, :] + 1.0
            below1 = own1[:, None] * other1[None, :] + 1.0
            above = value0 * below1 + value1 * below0
            sums += above * reciprocal(below0 * below1, HARDWARE)
    return sums * -TO_LEVEL


@triton.jit
@no_type_check
def forward(
    query_level,
    query_power,
    query_reach,
    key_level,
    key_power,
    key_reach,
    value,
    weight,
    lengths,
    context,
    normaliser,
    heads,
    weight_heads,
    queries,
    keys,
    width,
    value_width,
    query_room,
    key_room,
    value_batch,
    value_head,
    value_position,
    value_neuron,
    first,
    before,
    after,
    ROOM: tl.constexpr,
    ODD: tl.constexpr,
    WIDE: tl.constexpr,
    DEEPEST: tl.constexpr,
    VALUES: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PADDED: tl.constexpr,
    UNROLL: tl.constexpr,
    HARDWARE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The context of one block of queries, and the log2 of what softmax divides by (inf: nothing seen)."""
    block = tl.num_programs(0) - 1 - tl.program_id(0)  # causal: the longest first
    row = tl.program_id(1).to(tl.int64)
    batch, head = row // heads, row % heads
    at = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    out = tl.arange(0, VALUES)
    length = tl.minimum(tl.load(lengths + batch), keys).to(tl.int32) if PADDED else keys
    low, high = keys_of(block, first, before, after, length, BLOCK_Q, BLOCK_K)
    own_reach = tl.load(query_reach + row * tl.num_programs(0) + block)
    own = row * ROOM * query_room + at
    weight += (head % weight_heads) * width
    value += batch * value_batch + head * value_head
    neuron = tl.arange(0, WIDE)
    shares = tl.load(weight + neuron, mask=neuron < width, other=0.0).to(tl.float32) * TO_LEVEL
    # No score is above `bound`, nor below it by more than all |v|: a maximum is seldom worth looking for.
    bound = tl.sum(tl.maximum(-shares, 0.0))
    calm = tl.sum(tl.abs(shares)) < DEEPEST
    top = tl.full((BLOCK_Q,), 0.0, tl.float32) + tl.where(calm, bound, -float("inf"))
    total = tl.zeros((BLOCK_Q, BLOCK_K), tl.float32)
    mixed = tl.zeros((BLOCK_Q, VALUES), tl.float32)
    for other_block in range(low, high):
        to = other_block * BLOCK_K + tl.arange(0, BLOCK_K)
        other = row * ROOM * key_room + to
        far = own_reach + tl.load(key_reach + row * (key_room // BLOCK_K) + other_block) > FARTHEST
        score = scores(
            query_level + own,
            query_power + own,
            key_level + other,
            key_power + other,
            weight,
            far,
            query_room,
            key_room,
            width,
            ROOM,
            ODD,
            BLOCK_Q,
            BLOCK_K,
            UNROLL,
            HARDWARE,
        )
        distance = to[None, :] - (first + at)[:, None]
        seen = (distance >= -before) & (distance <= after) & (to < length)[None, :]
        score = tl.where(seen, score, -float("inf"))
        if calm:
            share = tl.exp2(score - bound)
        else:
            higher = tl.maximum(top, tl.max(score, 1))
            base = tl.where(higher == -float("inf"), 0.0, higher)
            share = tl.exp2(score - base[:, None])
            decay = tl.exp2(top - base)[:, None]
            total, mixed = total * decay, mixed * decay
            top = higher
        total += share
        read = tl.load(
            value + to[:, None] * value_position + out[None, :] * value_neuron,
            mask=(to < keys)[:, None] & (out < value_width)[None, :],
            other=0.0,
        )
        mixed = tl.dot(share.to(read.dtype), read, mixed, input_precision=PRECISION)
    total = tl.sum(total, 1)
    blind = total == 0.0
    mixed = mixed / tl.where(blind, 1.0, total)[:, None]
    place = (row * queries + at)[:, None] * value_width + out[None, :]
    real = (at < queries)[:, None] & (out < value_width)[None, :]
    tl.store(context + place, mixed.to(context.dtype.element_ty), mask=real)
    logarithm = tl.where(blind, float("inf"), top + tl.log2(tl.where(blind, 1.0, total)))
    tl.store(normaliser + row * queries + at, logarithm, mask=at < queries)


@triton.jit
@no_type_check
def scores_backward(
    query_level,
    query_power,
    query_reach,
    key_level,
    key_power,
    key_reach,
    value,
    weight,
    lengths,
    normaliser,
    gradient,
    delta,
    changes,
    value_gradient,
    heads,
    weight_heads,
    queries,
    keys,
    width,
    value_width,
    query_room,
    key_room,
    value_batch,
    value_head,
    value_position,
    value_neuron,
    first,
    before,
    after,
    chunk_start,
    chunk_blocks,
    splits,
    ROOM: tl.constexpr,
    ODD: tl.constexpr,
    VALUES: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PADDED: tl.constexpr,
    UNROLL: tl.constexpr,
    HARDWARE: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """For one block of keys and a share of a chunk of queries: what the loss asks of each score and value.

    d score = p (d p - delta), with p recomputed from `normaliser`.
    """
    block, row = tl.program_id(0), tl.program_id(1).to(tl.int64)
    batch, head = row // heads, row % heads
    to = block * BLOCK_K + tl.arange(0, BLOCK_K)
    out = tl.arange(0, VALUES)
    length = tl.minimum(tl.load(lengths + batch), keys).to(tl.int32) if PADDED else keys
    low, high = queries_of(block, first, before, after, length, BLOCK_Q, BLOCK_K)
    low, high = tl.maximum(low, chunk_start), tl.minimum(high, chunk_start + chunk_blocks)
    chunk = chunk_blocks * BLOCK_Q
    other_reach = tl.load(key_reach + row * tl.num_programs(0) + block)
    other = row * ROOM * key_room + to
    weight += (head % weight_heads) * width
    real = (to < keys)[:, None] & (out < value_width)[None, :]
    place = to[:, None] * value_position + out[None, :] * value_neuron
    read = tl.load(value + batch * value_batch + head * value_head + place, mask=real, other=0.0)
    split = tl.program_id(2)
    part = split * tl.num_programs(1) + row
    sums = (part * keys + to)[:, None] * value_width + out[None, :]
    moved = tl.load(value_gradient + sums, mask=real & (chunk_start > 0), other=0.0)
    for own_block in range(low + split, high, splits):
        at = own_block * BLOCK_Q + tl.arange(0, BLOCK_Q)
        own = row * ROOM * query_room + at
        own_reach = tl.load(query_reach + row * (query_room // BLOCK_Q) + own_block)
        score = scores(
            query_level + own,
            query_power + own,
            key_level + other,
            key_power + other,
            weight,
            own_reach + other_reach > FARTHEST,
            query_room,
            key_room,
            width,
            ROOM,
            ODD,
            BLOCK_Q,
            BLOCK_K,
            UNROLL,
            HARDWARE,
        )
        distance = to[None, :] - (first + at)[:, None]
        seen = (distance >= -before) & (distance <= after) & (to < length)[None, :]
        shift = tl.load(normaliser + row * queries + at, mask=at < queries, other=float("inf"))
        share = tl.where(seen, tl.exp2(score - shift[:, None]), 0.0)
        pulled = tl.load(
            gradient + (row * queries + at)[:, None] * value_width + out[None, :],
            mask=(at < queries)[:, None] & (out < value_width)[None, :],
            other=0.0,
        )
        moved = tl.dot(tl.trans(share).to(pulled.dtype), pulled, moved, input_precision=PRECISION)
        share_gradient = tl.dot(pulled, tl.trans(read).to(pulled.dtype), input_precision=PRECISION)
        less = tl.load(delta + row * queries + at, mask=at < queries, other=0.0)
        change = share * (share_gradient - less[:, None])
        line = at - chunk_start * BLOCK_Q
        tl.store(changes + (row * chunk + line)[:, None] * key_room + to[None, :], change)
    tl.store(value_gradient + sums, moved, mask=real)


# `offset` is 0, but unknown: a thread must not load four neurons at once, or sums would cross threads.
@triton.jit(do_not_specialize=["offset", "width"])
@no_type_check
def neurons_backward(
    query_level,
    query_power,
    query_reach,
    key_level,
    key_power,
    key_reach,
    weight,
    lengths,
    change,
    query_gradient,
    key_gradient,
    weight_gradient,
    heads,
    weight_heads,
    keys,
    width,
    query_room,
    key_room,
    first,
    before,
    after,
    chunk_start,
    chunk_blocks,
    splits,
    offset,
    ROOM: tl.constexpr,
    NEURONS: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
    HELD: tl.constexpr,
    PADDED: tl.constexpr,
    HARDWARE: tl.constexpr,
):
    """What the loss asks of the neurons: 4 v_n sum of d score r (1 - r), and of v: -2 sum of d score r.

    A thread holds one neuron of some keys and walks along a share of a chunk of queries, two a reciprocal. So
    it sums over queries for its keys, which stay, and over its keys for each query, which are written out, to
    be added to those of the other groups of keys.
    """
    group, row = tl.program_id(0), tl.program_id(1).to(tl.int64)
    batch, head = row // heads, row % heads
    split = tl.program_id(2) % splits
    length = tl.minimum(tl.load(lengths + batch), keys).to(tl.int32) if PADDED else keys
    low, high = queries_of(group, first, before, after, length, BLOCK_Q, HELD)
    position = group * HELD + tl.arange(0, HELD)
    neuron = (tl.program_id(2) // splits) * NEURONS + tl.arange(0, NEURONS)
    held, real = neuron < ROOM, neuron < width
    own = (row * key_room + group * HELD) * ROOM + offset + neuron
    held_keys = (tl.arange(0, HELD) * ROOM)[
        :, None
    ]  # apart, so that a thread's addresses are one and constants
    power = tl.load((key_power + own)[None, :] + held_keys, mask=held[None, :], other=0.0)
    reach = tl.load(key_reach + row * (key_room // BLOCK_K) + group * HELD // BLOCK_K)
    scale = tl.load(weight + (head % weight_heads) * width + neuron, mask=real, other=0.0)
    scale = 4.0 * scale.to(tl.float32)
    sloped = tl.zeros((HELD, NEURONS), tl.float32)
    plain = tl.zeros((NEURONS,), tl.float32)
    lines = chunk_blocks * BLOCK_Q
    for block in range(chunk_start + split, chunk_start + chunk_blocks, splits):
        line = row * lines + (block - chunk_start) * BLOCK_Q
        out = (
            query_gradient
            + (group.to(tl.int64) * tl.num_programs(1) * lines + line) * width
            + neuron
        )
        change_at = change + line * key_room + position
        other = (row * query_room + block * BLOCK_Q) * ROOM + neuron
        far = reach + tl.load(query_reach + row * (query_room // BLOCK_Q) + block) > FARTHEST
        if (block < low) | (block >= high):
            for _ in range(0, BLOCK_Q):
                tl.store(out, tl.zeros((NEURONS,), tl.float32), mask=real)
                out += width
        elif far:
            level = tl.load((key_level + own)[None, :] + held_keys, mask=held[None, :], other=0.0)
            for _ in range(0, BLOCK_Q):
                across = tl.load(query_level + other, mask=held, other=0.0)
                wanted = tl.load(change_at)[:, None]
                r = 1.0 / (1.0 + tl.exp2(level + across[None, :]))
                slope = r - r * r
                sloped += wanted * slope
                plain += tl.sum(wanted * r, 0)
                tl.store(out, scale * tl.sum(wanted * slope, 0), mask=real)
                other += ROOM
                change_at += key_room
                out += width
        else:
            for _ in range(0, BLOCK_Q, 2):
                across0 = tl.load(query_power + other, mask=held, other=0.0)
                across1 = tl.load(query_power + other + ROOM, mask=held, other=0.0)
                wanted0 = tl.load(change_at)[:, None]
                wanted1 = tl.load(change_at + key_room)[:, None]
                below0 = power * across0[None, :] + 1.0
                below1 = power * across1[None, :] + 1.0
                both = reciprocal(below0 * below1, HARDWARE)
                r0, r1 = below1 * both, below0 * both
                slope0, slope1 = r0 - r0 * r0, r1 - r1 * r1
                sloped += wanted0 * slope0
                sloped += wanted1 * slope1
                plain += tl.sum(wanted0 * r0, 0) + tl.sum(wanted1 * r1, 0)
                tl.store(out, scale * tl.sum(wanted0 * slope0, 0), mask=real)
                tl.store(out + width, scale * tl.sum(wanted1 * slope1, 0), mask=real)
                other += 2 * ROOM
                change_at += 2 * key_room
                out += 2 * width
    later = chunk_start > 0  # keys and v are asked by every chunk of queries
    part = split * tl.num_programs(1) + row
    place = (part * keys + position)[:, None] * width + neuron[None, :]
    inside = (position < keys)[:, None] & real[None, :]
    sloped = scale[None, :] * sloped
    sloped += tl.load(key_gradient + place, mask=inside & later, other=0.0)
    tl.store(key_gradient + place, sloped, mask=inside)
    place = (part * tl.num_programs(0) + group) * width + neuron
    plain = -2.0 * plain + tl.load(weight_gradient + place, mask=real & later, other=0.0)
    tl.store(weight_gradient + place, plain, mask=real)
