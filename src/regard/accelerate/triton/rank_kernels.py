"""Ranking all continuations of all hypotheses, in two kernels.

The vocabulary is cut into chunks. `scan_kernel` reads every logit once and leaves, for each chunk, its best
and its share of the softmax's sum. The k best continuations lie in the k best chunks, so `choose_kernel`, one
program a row, looks only there; then it turns the beam over as `decode/beam.py` does.
"""

from __future__ import annotations

from typing import no_type_check

import triton
import triton.language as tl

CHUNK = 256


@triton.jit
@no_type_check
def scan_kernel(
    logits,
    tops,
    sums,
    bests,
    position,
    rules,
    slots,
    end,
    vocabulary: tl.constexpr,
    chunks: tl.constexpr,
    chunk: tl.constexpr,
    group: tl.constexpr,
):
    """Of each chunk: its top, the sum of exp(logit - top), and its top among what may be chosen."""
    hypothesis = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1) * group + tl.arange(0, group)
    token = part[:, None] * chunk + tl.arange(0, chunk)[None, :]
    values = tl.load(
        logits + hypothesis * vocabulary + token, mask=token < vocabulary, other=float("-inf")
    ).to(tl.float32)
    top = tl.max(values, axis=1)
    base = tl.where(top == float("-inf"), 0.0, top)
    total = tl.sum(tl.exp(values - base[:, None]), axis=1)
    too_soon = tl.load(position + hypothesis // slots) < tl.load(rules)
    best = tl.max(tl.where(too_soon & (token == end), float("-inf"), values), axis=1)
    here = hypothesis * chunks + part
    tl.store(tops + here, top, mask=part < chunks)
    tl.store(sums + here, total, mask=part < chunks)
    tl.store(bests + here, best, mask=part < chunks)


@triton.jit
@no_type_check
def _best(values, index, nothing: tl.constexpr):
    """The highest value and, of equals, the lowest index; `nothing` where all are -inf."""
    value = tl.max(tl.max(values, axis=1), axis=0)
    at = tl.where(values == value, index, nothing)
    lowest = tl.min(tl.min(at, axis=1), axis=0)
    return value, tl.where(value == float("-inf"), nothing, lowest)


@triton.jit
@no_type_check
def choose_kernel(
    logits,
    tops,
    sums,
    bests,
    tokens,
    position,
    is_open,
    totals,
    finished,
    ancestors,
    rules,
    divisors,
    parents,
    chosen,
    reached,
    added,
    fate,
    rows,
    positions,
    end,
    slots: tl.constexpr,
    places: tl.constexpr,
    vocabulary: tl.constexpr,
    chunks: tl.constexpr,
    chunk: tl.constexpr,
    columns: tl.constexpr,
    reach: tl.constexpr,
):
    """The beam of one row, turned over. `places` is `slots` rounded up to a power of two."""
    nothing: tl.constexpr = 2147483647
    infinite = float("-inf")
    row = tl.program_id(0)
    number = tl.load(position + row)
    slot, column = tl.arange(0, places), tl.arange(0, columns)
    here = slot < slots

    # The logarithm of each hypothesis's sum, and the best total that each chunk can offer.
    lies = (row * slots + slot[:, None]) * chunks + column[None, :]
    known = here[:, None] & (column < chunks)[None, :]
    top = tl.load(tops + lies, mask=known, other=infinite)
    share = tl.load(sums + lies, mask=known, other=0.0)
    highest = tl.max(top, axis=1)
    highest = tl.where(highest == infinite, 0.0, highest)
    norm = highest + tl.log(tl.sum(share * tl.exp(top - highest[:, None]), axis=1))
    norm = tl.where(here, norm, 0.0)
    before = tl.load(totals + row * slots + slot, mask=here, other=infinite)
    offer = tl.load(bests + lies, mask=known, other=infinite) - norm[:, None] + before[:, None]
    offer = tl.where(offer == offer, offer, infinite)  # where scores are NaN, there is no offer
    flat = slot[:, None] * columns + column[None, :]
    picked = tl.full([places], nothing, tl.int32)
    for rank in range(slots):
        _, where = _best(offer, flat, nothing)
        picked = tl.where(slot == rank, where, picked)
        offer = tl.where(flat == where, infinite, offer)

    # Every continuation in the chunks picked.
    real = picked != nothing
    parent = tl.where(real, picked // columns, 0)
    token = (picked % columns)[:, None] * chunk + tl.arange(0, chunk)[None, :]
    is_parent = parent[:, None] == slot[None, :]
    own_norm = tl.sum(tl.where(is_parent, norm[None, :], 0.0), axis=1)
    own_total = tl.max(tl.where(is_parent, before[None, :], infinite), axis=1)
    valid = real[:, None] & (token < vocabulary)
    too_soon = number < tl.load(rules)
    source = (row * slots + parent[:, None]).to(tl.int64) * vocabulary + token
    gain = tl.load(logits + source, mask=valid, other=infinite).to(tl.float32) - own_norm[:, None]
    gain = tl.where((too_soon & (token == end)) | (gain != gain), infinite, gain)
    value = tl.where(valid, own_total[:, None] + gain, infinite)
    key = tl.where(valid, parent[:, None] * vocabulary + token, nothing)
    total = tl.full([places], infinite, tl.float32)
    extra = tl.full([places], infinite, tl.float32)
    index = tl.zeros([places], tl.int32)
    for rank in range(slots):
        best, where = _best(value, key, nothing)
        taken = key == where
        of_best = tl.max(tl.max(tl.where(taken, gain, infinite), axis=1), axis=0)
        total = tl.where(slot == rank, best, total)
        extra = tl.where(slot == rank, of_best, extra)
        index = tl.where(slot == rank, tl.where(where == nothing, 0, where), index)
        value = tl.where(taken, infinite, value)

    # What ends keeps its place for good.
    old = tl.load(finished + row * slots + slot, mask=here, other=infinite)
    left = slots - tl.sum((old > infinite).to(tl.int32), axis=0)
    kept = (slot < left) & (total > infinite) & here
    said, came_from = index % vocabulary, index // vocabulary
    ended = kept & (said == end)
    alive = kept & (said != end)
    new = tl.where(ended, total / tl.load(divisors + number), infinite)
    ahead_old = tl.sum(
        (
            (old[None, :] > old[:, None])
            | ((old[None, :] == old[:, None]) & (slot[None, :] < slot[:, None]))
        ).to(tl.int32),
        axis=1,
    )
    ahead_old += tl.sum((new[None, :] > old[:, None]).to(tl.int32), axis=1)
    ahead_new = tl.sum(
        (
            (new[None, :] > new[:, None])
            | ((new[None, :] == new[:, None]) & (slot[None, :] < slot[:, None]))
        ).to(tl.int32),
        axis=1,
    )
    ahead_new += tl.sum((old[None, :] >= new[:, None]).to(tl.int32), axis=1)
    from_old = tl.where(ahead_old[None, :] == slot[:, None], old[None, :], infinite)
    from_new = tl.where(ahead_new[None, :] == slot[:, None], new[None, :], infinite)
    ranked = tl.maximum(tl.max(from_old, axis=1), tl.max(from_new, axis=1))
    tl.store(finished + row * slots + slot, ranked, mask=here)

    # Whether something unfinished could still come among the best.
    open_total = tl.where(alive, total, infinite)
    hope = tl.max(open_total, axis=0) / tl.load(divisors + positions)
    worst = tl.max(tl.where(slot == tl.load(rules + 2) - 1, ranked, infinite), axis=0)
    some = tl.sum(alive.to(tl.int32), axis=0) > 0
    goes_on = (hope > worst) & some & (number + 1 < tl.load(rules + 1))
    tl.store(is_open + row, goes_on)
    tl.store(totals + row * slots + slot, tl.where(goes_on, open_total, infinite), mask=here)
    tl.store(tokens + row * slots + slot, said, mask=here)
    tl.store(position + row, number + 1)
    noted = (number * rows + row) * slots + slot
    tl.store(parents + noted, came_from, mask=here)
    tl.store(chosen + noted, said, mask=here)
    tl.store(reached + noted, total, mask=here)
    tl.store(added + noted, extra, mask=here)
    tl.store(fate + noted, ended.to(tl.int8) + 2 * alive.to(tl.int8), mask=here)

    # Each slot takes over its parent's line.
    if slots > 1:
        for start in range(0, number + 1, reach):
            then = start + tl.arange(0, reach)
            line = ancestors + (row * slots + came_from[:, None]) * positions + then[None, :]
            past = tl.load(line, mask=here[:, None] & (then < number)[None, :], other=0)
            past = tl.where((then == number)[None, :], came_from[:, None], past)
            tl.debug_barrier()  # all slots are read before any is written
            mine = ancestors + (row * slots + slot[:, None]) * positions + then[None, :]
            tl.store(mine, past, mask=here[:, None] & (then <= number)[None, :])
