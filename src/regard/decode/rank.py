"""The best candidates of each row, with ties broken by index: the same on every device."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

BLOCK = 128  # candidates whose largest a processor finds at once


def best(
    scores: Float[Tensor, "rows candidates"], count: int
) -> tuple[Float[Tensor, "rows count"], Int[Tensor, "rows count"]]:
    """The `count` highest scores, highest first; of equal ones the lower index first."""
    count = min(count, scores.shape[1])
    if scores.dtype != torch.float32:
        values, index = scores.sort(dim=-1, descending=True, stable=True)
        return values[:, :count], index[:, :count]
    # `topk` breaks ties as it likes. So a float's bits, which order like the float once negatives are
    # flipped, become the high half of an integer, and the index, reversed, the low half: no two are equal.
    bits = (scores + 0.0).view(torch.int32).long()
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    low = 0xFFFFFFFF - torch.arange(scores.shape[1], device=scores.device)
    index = 0xFFFFFFFF - ((ordered << 32) | low).topk(count, -1).values.bitwise_and(0xFFFFFFFF)
    return scores.gather(1, index), index


def best_continuations(
    found: Float[Tensor, "hypotheses vocabulary"], totals: Float[Tensor, "rows slots"], most: int
) -> tuple[Float[Tensor, "rows most"], Int[Tensor, "rows most"]] | None:
    """`best` over totals + found of each row, from one pass over the vocabulary; None where that cannot tell.

    A row's best `most` continuations are among the best `most` + 1 of each of its hypotheses, unless one
    left out equals the last one taken, and might have the lower index. NaN counts as largest, so it shows.
    """
    rows, slots = totals.shape
    vocabulary = found.shape[1]
    most, count = min(most, slots * vocabulary), min(most + 1, vocabulary)
    each, token = top(found, count)
    sums = (totals.unsqueeze(-1) + each.view(rows, slots, count)).flatten(1)
    first = torch.arange(0, slots * vocabulary, vocabulary, device=found.device)
    index, order = (token.view(rows, slots, count) + first.view(-1, 1)).flatten(1).sort(dim=-1)
    values, place = sums.gather(1, order).sort(dim=-1, descending=True, stable=True)
    values, index = values[:, :most], index.gather(1, place[:, :most])
    worst = values[:, -1:]
    unclear = each[:, :1].isnan().any()
    if count < vocabulary:
        last = sums.view(rows, slots, count)[:, :, -1]
        unclear = unclear | ((last >= worst) & worst.isfinite()).any()
    return None if unclear else (values, index)


def first(scores: Float[Tensor, "rows candidates"]) -> Int[Tensor, " rows"]:
    """The place of each row's highest score, of equal ones the first; NaN counts as highest."""
    size = scores.shape[1]
    if scores.device.type != "cpu" or size < 2 * BLOCK:
        return scores.argmax(1)
    highest = _blocks(scores).amax(2)
    if size % BLOCK:
        tail = scores[:, size // BLOCK * BLOCK :].amax(1, keepdim=True)
        highest = torch.cat([highest, tail], 1)
    # A last block that would reach beyond the end begins sooner: there is nothing as high before it.
    start = highest.argmax(1, keepdim=True).mul_(BLOCK).clamp_(max=size - BLOCK)
    within = scores.gather(1, start + torch.arange(BLOCK)).argmax(1)
    return start.squeeze(1) + within


def top(
    scores: Float[Tensor, "rows candidates"], count: int
) -> tuple[Float[Tensor, "rows count"], Int[Tensor, "rows count"]]:
    """`topk`, on a CPU by way of blocks: the highest scores are in the blocks with the highest largest."""
    rows, size = scores.shape
    if scores.device.type != "cpu" or size < 2 * count * BLOCK:
        values, index = scores.topk(count, -1)
        return values, index
    blocks = _blocks(scores)
    place = blocks.amax(2).topk(count, -1).indices.unsqueeze(2)
    candidates = blocks.gather(1, place.expand(-1, -1, BLOCK)).flatten(1)
    index = (place * BLOCK + torch.arange(BLOCK)).flatten(1)
    rest = size // BLOCK * BLOCK
    if rest < size:
        candidates = torch.cat([candidates, scores[:, rest:]], 1)
        index = torch.cat([index, torch.arange(rest, size).expand(rows, -1)], 1)
    values, place = candidates.topk(count, -1)
    return values, index.gather(1, place)


def _blocks(scores: Float[Tensor, "rows candidates"]) -> Float[Tensor, "rows blocks block"]:
    whole = scores.shape[1] // BLOCK * BLOCK
    return scores[:, :whole].unflatten(1, (-1, BLOCK))
