"""What a longer text costs: a recurrent layer, which goes step by step, beside attention (L40).

A recurrent layer keeps O(n d) numbers and does n steps that wait for each other. Attention is one step for
all positions and forms n x n scores; whether they are kept until the backward pass is up to the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

from regard.attention import Attention, Heads, ScaledDot, Softmax
from regard.layers.recurrent import Gru
from regard.measure.figures import Bytes, Cell, Ratio, Seconds, Table
from regard.measure.instruments import Timing, Work, timed
from regard.measure.scene import Scene
from regard.seams import reference

RNN, FORMULA, FUSED = "recurrent (GRU)", "attention, written out", "attention, fused"


def length_cost(scene: Scene) -> Iterator[Table]:
    """One sequence over growing lengths: a table of time, forward and backward, and one of memory."""
    longest = 256 if scene.quick else 4096 if scene.on_gpu else 1024
    lengths = [64 << power for power in range(20) if 64 << power <= longest]
    layers = _layers(scene)
    times, kept = [], []
    for length in lengths:
        states = torch.randn(1, length, scene.width, device=scene.device, requires_grad=True)
        works = {name: _through(layer, states, run) for name, (layer, run) in layers.items()}
        steps = {name: _backward(work) for name, work in works.items()}
        with scene.precision():
            measured = timed(steps, scene.device, rounds=scene.rounds, seconds=scene.seconds)
            bytes_of = {
                name: kept_bytes(work, [states, *layers[name][0].parameters()])
                for name, work in works.items()
            }
        times.append(time_row(length, measured))
        kept.append({"length": length, **{name: Bytes(one) for name, one in bytes_of.items()}})
    one = f"one sequence, width {scene.width}, {scene.heads} heads, {scene.device.type}"
    yield Table(
        f"Time by length: {one}",
        times,
        "Forward and backward. The recurrent layer takes as many steps after each other as the text has "
        "positions, attention one for all of them; x is how many times as long as fused attention it takes.",
        "seconds",
    )
    yield Table(
        f"Memory by length: {one}",
        kept,
        "What the forward pass keeps for the backward pass, counted tensor by tensor; parameters and the "
        "input are left out. Written out, attention keeps its n x n weights; the fused kernel works them "
        "out again.",
        "MiB",
    )


def time_row(length: int, times: Mapping[str, Timing]) -> dict[str, Cell]:
    """One length: the seconds of each layer, and how many times the fused kernel's the recurrent one took."""
    row: dict[str, Cell] = {"length": length}
    row |= {name: Seconds(one.median) for name, one in times.items()}
    return row | {"x": Ratio(times[RNN].median / times[FUSED].median)}


def kept_bytes(work: Callable[[], Tensor], without: Iterable[Tensor] = ()) -> int:
    """How many bytes of tensors a forward pass keeps for its backward pass, each piece of memory once."""
    known = {one.untyped_storage().data_ptr() for one in without}
    kept: dict[int, Tensor] = {}

    def pack(tensor: Tensor) -> Tensor:
        if tensor.untyped_storage().data_ptr() not in known:
            kept[tensor.untyped_storage().data_ptr()] = (
                tensor  # held, so that no address comes twice
            )
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = work()
    del result
    return sum(one.untyped_storage().nbytes() for one in kept.values())


def points(table: Table) -> dict[str, Sequence[tuple[int, float]]]:
    """The lines of a picture: each column of times or sizes over the lengths; sizes in MiB."""
    names = [name for name in table.columns if isinstance(table.rows[0][name], Seconds | Bytes)]

    def value(cell: Cell) -> float:
        return int(cell) / (1 << 20) if isinstance(cell, Bytes) else float(cell or 0)

    return {
        name: [(int(row["length"] or 0), value(row[name])) for row in table.rows] for name in names
    }


Run = Callable[[nn.Module, Tensor], Tensor]


def _layers(scene: Scene) -> dict[str, tuple[nn.Module, Run]]:
    """Each layer, and how states go through it."""
    torch.manual_seed(1)
    width, heads = scene.width, scene.heads
    recurrent = Gru(width, width).to(scene.device)
    attention = Heads(width, heads, Attention(ScaledDot(), Softmax())).to(scene.device)

    def written_out(layer: nn.Module, states: Tensor) -> Tensor:
        with reference():
            return layer.within(states)  # type: ignore[operator]

    return {
        RNN: (recurrent, lambda layer, states: layer.run(states, layer.zeros(states))),
        FORMULA: (attention, written_out),
        FUSED: (attention, lambda layer, states: layer.within(states)),
    }


def _through(layer: nn.Module, states: Tensor, run: Run) -> Callable[[], Tensor]:
    return lambda: run(layer, states)


def _backward(work: Callable[[], Tensor]) -> Work:
    return lambda: work().sum().backward()
