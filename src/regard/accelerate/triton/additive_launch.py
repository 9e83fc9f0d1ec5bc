"""Additive attention on a GPU: how its programs are launched, and what memory they are given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import torch
from torch import Tensor

from regard.accelerate.triton import additive_kernels as programs


@final
@dataclass(frozen=True)
class Blocks:
    """How many queries, keys and neurons a program works on, by how many warps; only speed depends on it."""

    queries: int
    keys: int
    warps: int
    neurons: int = 64
    held: int = 32  # keys, of which a program of the backward pass holds all neurons
    neuron_registers: int | None = None
    fill: int = 4  # programs a processor should find, where the work can be split so far
    unroll: int = 1  # turns of the innermost loop that are written out one after the other
    registers: int | None = None  # at most, for each thread: fewer leave room for more programs


# The fastest on an H200, by `bench/additive.py --tune`.
FORWARD = Blocks(queries=16, keys=256, warps=8, unroll=2, registers=128)
SHORT = replace(FORWARD, keys=128, warps=4)  # where larger blocks would be emptier
EXACT = Blocks(queries=16, keys=64, warps=2, unroll=2)  # forward, in float32
BACKWARD = Blocks(queries=16, keys=64, warps=2, registers=128, fill=8)


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
    weight, blocks = weight.contiguous(), _forward_blocks(value, band)
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
        ODD=query.shape[3] % 2 == 1,
        WIDE=1 << (query.shape[3] - 1).bit_length(),
        DEEPEST=14.0 if value.dtype == torch.float16 else 100.0,
        UNROLL=blocks.unroll,
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
    scratch: int,
    context: Tensor,
    normaliser: Tensor,
    gradient: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of query, key, value and v.

    The scores' gradients are worked out for a chunk of queries at a time, as many as `scratch` bytes hold.
    """
    weight, gradient, blocks = weight.contiguous(), gradient.contiguous(), BACKWARD
    delta = (gradient.float() * context.float()).sum(-1)
    asking, offered = _Side.of(query, blocks.queries), _Side.of(key, blocks.keys)
    across, down = asking.turned(query), offered.turned(key)
    (count, width), groups = query.shape[2:], offered.room // blocks.held
    step = scratch // (4 * asking.rows * blocks.queries * (offered.room + groups * width))
    step = min(asking.blocks, max(1, step))
    room = asking.rows * step * blocks.queries
    change, partial = delta.new_empty(room * offered.room), delta.new_empty(groups * room * width)
    parts = -(-asking.width // blocks.neurons)
    splits = [
        _splits(blocks, offered.rows * offered.blocks, query.device),
        _splits(blocks, offered.rows * parts * groups, query.device),
    ]
    read, offers = (
        delta.new_empty(share, *one.shape) for share, one in zip(splits, (value, key), strict=True)
    )
    shares = delta.new_empty(splits[1], *query.shape[:2], groups, width)
    of_query = delta.new_empty(asking.rows, count, width)
    given = weight, weight if lengths is None else lengths
    counts, constants = _counts(query, key, weight), _constants(blocks, asking, lengths)
    for start in range(0, asking.blocks, step):
        chunk = start, min(step, asking.blocks - start)
        programs.scores_backward[offered.blocks, offered.rows, splits[0]](
            *(*asking.tensors, *offered.tensors, value, *given),
            *(normaliser, gradient, delta, change, read),
            *(*counts, value.shape[-1], asking.room, offered.room, *value.stride(), *band),
            *(*chunk, splits[0]),
            **constants,
            **_reading(value),
            ODD=query.shape[3] % 2 == 1,
            UNROLL=blocks.unroll,
            num_warps=blocks.warps,
            num_stages=1,
            maxnreg=blocks.registers,
        )
        programs.neurons_backward[groups, offered.rows, parts * splits[1]](
            *(*across.tensors, *down.tensors, *given, change, partial, offers, shares),
            *(*counts[:2], *counts[3:], asking.room, offered.room, *band, *chunk),
            *(splits[1], 0),
            **constants,
            NEURONS=blocks.neurons,
            HELD=blocks.held,
            num_warps=max(1, blocks.neurons // 32),  # one neuron a thread: no sum crosses threads
            num_stages=1,
            maxnreg=blocks.neuron_registers,
        )
        lines = chunk[1] * blocks.queries
        found = partial[: groups * asking.rows * lines * width].view(groups, -1, lines, width)
        place = slice(start * blocks.queries, start * blocks.queries + lines)
        of_query[:, place] = found.sum(0)[:, : count - place.start]
    shared = shares.sum((0, 1, 3)).sum_to_size(weight.shape)
    return (
        of_query.view(query.shape).to(query.dtype),
        offers.sum(0).to(key.dtype),
        read.sum(0).to(value.dtype),
        shared.to(weight.dtype),
    )


def _forward_blocks(value: Tensor, band: list[int]) -> Blocks:
    if value.dtype == torch.float32:
        return EXACT
    keys = value.shape[2]
    sees_all = min(band[1:]) >= keys
    return FORWARD if sees_all and keys >= 2 * FORWARD.keys else SHORT


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
        "HARDWARE": asking.level.is_cuda and torch.version.hip is None,
    }


def _reading(value: Tensor) -> dict[str, Any]:
    """Values of float32 are multiplied as such: three products of tf32 make one of float32."""
    exact = value.dtype == torch.float32
    return {
        "VALUES": max(16, 1 << (value.shape[-1] - 1).bit_length()),
        "PRECISION": "tf32x3" if exact else "tf32",
    }
