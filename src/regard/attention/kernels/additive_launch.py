"""Additive attention on a GPU: how its programs are launched, and what memory they are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from regard.attention.kernels import additive_triton as programs

SCRATCH = 1 << 28  # bytes that the way back may use for the scores' gradients, whatever the length


@final
@dataclass(frozen=True)
class Blocks:
    """How many queries, keys and neurons a program works on, by how many warps; only speed depends on it."""

    queries: int
    keys: int
    warps: int
    neurons: int = 64
    query_warps: int = 4
    key_warps: int = 4
    fill: int = 4  # programs a processor should find, where the work can be split so far
    unroll: int = 1  # turns of the innermost loop that are written out one after the other
    registers: int | None = None  # at most, for each thread: fewer leave room for more programs


FORWARD = Blocks(queries=16, keys=128, warps=4, unroll=2)
BACKWARD = Blocks(queries=32, keys=64, warps=4)


def rounded(number: int, step: int) -> int:
    """The next multiple of `step`."""
    return -(-number // step) * step


def forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    lengths: Tensor | None,
    band: list[int],
) -> tuple[Tensor, Tensor]:
    """The context, and the log2 of what each row's softmax divided by."""
    weight, blocks = weight.contiguous(), FORWARD
    asking, offered = _Side.of(query, blocks.queries), _Side.of(key, blocks.keys)
    context = value.new_empty(*query.shape[:3], value.shape[-1])
    normaliser = asking.level.new_empty(query.shape[:3])
    programs.forward[asking.blocks, asking.rows](
        *(*asking.tensors, *offered.tensors, value, weight),
        *(weight if lengths is None else lengths, context, normaliser),
        *(*_counts(query, key, weight), value.shape[-1], asking.room, offered.room),
        *(*value.stride(), *band),
        **_constants(blocks, asking, lengths),
        **_reading(value),
        num_warps=blocks.warps,
        num_stages=1,
        maxnreg=blocks.registers,
    )
    return context, normaliser


def backward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    lengths: Tensor | None,
    band: list[int],
    context: Tensor,
    normaliser: Tensor,
    gradient: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of query, key, value and v.

    The scores' gradients are worked out for a chunk of queries at a time, as many as `SCRATCH` has room for.
    """
    weight, gradient, blocks = weight.contiguous(), gradient.contiguous(), BACKWARD
    delta = (gradient.float() * context.float()).sum(-1)
    asking, offered = _Side.of(query, blocks.queries), _Side.of(key, blocks.keys)
    across, down = asking.turned(query), offered.turned(key)
    step = max(1, SCRATCH // (8 * asking.rows * offered.room * blocks.queries))
    step = min(asking.blocks, step)
    by_query, by_key = delta.new_empty(2, asking.rows * step * blocks.queries * offered.room)
    parts = -(-asking.width // blocks.neurons)
    splits = _splits(blocks, offered.rows * parts * min(step, offered.blocks), query.device)
    asked, offers, read = (delta.new_empty(splits, *one.shape) for one in (query, key, value))
    shares = delta.new_empty(splits, *query.shape[:2], asking.blocks, query.shape[-1])
    given = weight, weight if lengths is None else lengths
    counts, constants = _counts(query, key, weight), _constants(blocks, asking, lengths)
    for start in range(0, asking.blocks, step):
        chunk = start, min(step, asking.blocks - start), splits
        programs.scores_backward[offered.blocks, offered.rows, splits](
            *(*asking.tensors, *offered.tensors, value, *given),
            *(normaliser, gradient, delta, by_query, by_key, read),
            *(*counts, value.shape[-1], asking.room, offered.room, *value.stride(), *band, *chunk),
            **constants,
            **_reading(value),
            num_warps=blocks.warps,
            num_stages=1,
            maxnreg=blocks.registers,
        )
        for own, other, change, sums, along, warps in (
            (across, down, by_key, asked, chunk[1], blocks.query_warps),
            (down, across, by_query, offers, down.blocks, blocks.key_warps),
        ):
            programs.neurons_backward[along, own.rows, parts * splits](
                *(*own.tensors, *other.tensors, *given, change, sums, shares),
                *(*counts, own.room, other.room, *band, *chunk),
                **constants,
                NEURONS=blocks.neurons,
                OF_QUERIES=own is across,
                num_warps=warps,
                num_stages=1,
                maxnreg=blocks.registers,
            )
    shared = shares.sum((0, 1, 3)).sum_to_size(weight.shape)
    return (
        asked.sum(0).to(query.dtype),
        offers.sum(0).to(key.dtype),
        read.sum(0).to(value.dtype),
        shared.to(weight.dtype),
    )


def _splits(blocks: Blocks, ready: int, device: torch.device) -> int:
    """Into how many shares to cut each program's walk, so that a short text too fills the whole GPU."""
    processors = 4
    if device.type == "cuda":
        processors = torch.cuda.get_device_properties(device).multi_processor_count
    return max(1, min(8, blocks.fill * processors // max(1, ready)))


@final
@dataclass(frozen=True, eq=False)
class _Side:
    """Queries or keys made ready: levels, powers, and how far the levels of each block reach."""

    level: Tensor
    power: Tensor
    reach: Tensor
    block: int

    @classmethod
    def of(cls, states: Tensor, block: int) -> _Side:
        """(rows, neurons, positions): a program that walks along neurons finds positions side by side."""
        (length, width), rows = states.shape[2:], states.shape[:2].numel()
        shape = rows, rounded(width, 2), rounded(length, block)
        level, power = states.new_empty(2, *shape, dtype=torch.float32)
        side = cls(level, power, level.new_empty(rows, shape[2] // block), block)
        side._fill(states, (level.stride(0), 1, level.stride(1)))
        return side

    def turned(self, states: Tensor) -> _Side:
        """The same as (rows, positions, neurons): a program that walks along positions finds neurons so."""
        level, power = self.level.new_empty(2, self.rows, self.room, self.width)
        side = _Side(level, power, self.reach, self.block)
        side._fill(states, level.stride())
        return side

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.level, self.power, self.reach

    @property
    def rows(self) -> int:
        return self.reach.shape[0]

    @property
    def blocks(self) -> int:
        return self.reach.shape[1]

    @property
    def room(self) -> int:
        return self.blocks * self.block

    @property
    def width(self) -> int:
        return self.level.numel() // max(1, self.rows * self.room)

    def _fill(self, states: Tensor, strides: tuple[int, ...]) -> None:
        programs.prepare[self.blocks, self.rows](
            states,
            *self.tensors,
            states.shape[2],
            states.shape[1],
            states.shape[3],
            *states.stride(),
            *strides,
            ROOM=self.width,
            NEURONS=16,
            BLOCK=self.block,
        )


def _counts(query: Tensor, key: Tensor, weight: Tensor) -> tuple[int, ...]:
    return query.shape[1], weight.shape[0], query.shape[2], key.shape[2], query.shape[3]


def _constants(blocks: Blocks, asking: _Side, lengths: Tensor | None) -> dict[str, Any]:
    return {
        "ROOM": asking.width,
        "BLOCK_Q": blocks.queries,
        "BLOCK_K": blocks.keys,
        "PADDED": lengths is not None,
        "UNROLL": blocks.unroll,
        "HARDWARE": asking.level.is_cuda and torch.version.hip is None,
    }


def _reading(value: Tensor) -> dict[str, Any]:
    """Values of float32 are multiplied as such: three products of tf32 make one of float32."""
    exact = value.dtype == torch.float32
    return {
        "VALUES": max(16, 1 << (value.shape[-1] - 1).bit_length()),
        "PRECISION": "tf32x3" if exact else "tf32",
    }
