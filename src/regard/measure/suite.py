"""The portable benchmark: the machine, its floor, then one table after another."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any, final

import torch

from regard.errors import UsageError, nearest
from regard.measure.attention_speed import attention, looking
from regard.measure.figures import Cell, Table
from regard.measure.instruments import copy_rate, matrix_rate
from regard.measure.length_cost import length_cost
from regard.measure.model_speed import decoding, training
from regard.measure.scene import Scene
from regard.run.device import choose_device
from regard.training.machine import processor_name

PARTS = ("floor", "attention", "training", "decoding", "looking", "length")
Tell = Callable[[Table], None]
Working = Callable[[str, int], None]  # (what is measured now, how many parts are done)


@final
@dataclass(frozen=True)
class Report:
    """All that was measured, with what it was measured on."""

    tables: tuple[Table, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"tables": [table.as_dict() for table in self.tables]}


def measure_all(
    device: str = "auto",
    *,
    quick: bool = False,
    only: str | None = None,
    tell: Tell | None = None,
    working: Working | None = None,
) -> Report:
    """Measure all, or `only` one part; `tell` hears each table as it is made, `working` what is measured."""
    scene = Scene(choose_device(device), quick)
    tables: list[Table] = []
    rate = 0.0
    for number, name in enumerate(PARTS if only is None else parts(only)):
        if working is not None:
            working(name, number)
        if name == "floor":  # the others stand on it
            rate = matrix_rate(scene.device, scene.kind)
        for table in _unharmed(name, _part(name, scene, rate)):
            tables.append(table)
            if tell is not None:
                tell(table)
    return Report(tuple(tables))


def parts(only: str) -> tuple[str, ...]:
    """One part, and the floor if it is measured by it."""
    if only not in PARTS:
        raise UsageError(f"there is no part '{only}'", "--only", nearest(only, PARTS))
    return tuple(name for name in PARTS if name in ("floor", only))


def _unharmed(name: str, part: Iterator[Table]) -> Iterator[Table]:
    """A part that fails says so, and leaves the others' figures alone."""
    try:
        yield from part
    except (RuntimeError, ValueError, TypeError, ImportError, MemoryError) as fault:
        reason = str(fault).split("\n")[0]
        yield Table(f"{name}: not measured", [], f"{type(fault).__name__}: {reason}")


def _part(name: str, scene: Scene, rate: float) -> Iterator[Table]:
    match name:
        case "floor":
            return iter([floor(scene, rate, copy_rate(scene.device))])
        case "attention":
            return attention(scene, rate)
        case "training":
            return training(scene, rate)
        case "decoding":
            return decoding(scene)
        case "looking":
            return looking(scene)
        case _:
            return length_cost(scene)


def floor(scene: Scene, rate: float, copied: float) -> Table:
    """What was measured on, and what it can do at best."""
    threads = torch.get_num_threads()
    name = (
        torch.cuda.get_device_name(scene.device)
        if scene.on_gpu
        else f"{processor_name()}, {threads} thread{'s' if threads > 1 else ''}"
    )
    peers = [one for one in ("transformers",) if importlib.util.find_spec(one)]
    row: dict[str, Cell] = {
        "machine": name,
        "torch": torch.__version__,
        "date": date.today().isoformat(),
        f"{str(scene.kind).removeprefix('torch.')} products, GFLOP/s": rate / 1e9,
        "memory copied, GB/s": copied / 1e9,
    }
    return Table("The floor", [row], f"Peers found beside torch: {', '.join(peers) or 'none'}.")
