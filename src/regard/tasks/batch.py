"""Examples side by side as tensors, padded on the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.text import BEGIN, PAD

IGNORE = -100  # a target that is not judged: padding, or a word's second piece


@final
@dataclass(frozen=True, eq=False)
class Batch:
    """What a model reads (`source`), what it is told it has said (`inputs`), and what is right (`targets`).

    `count` is how many targets are judged: losses are summed, then divided by the count of a whole step.
    """

    source: Int[Tensor, "batch source"] | Float[Tensor, "batch source features"]
    lengths: Int[Tensor, " batch"] | None
    inputs: Int[Tensor, "batch target"] | None
    targets: Int[Tensor, batch * target]
    count: int

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device; copies run beside the computation where they can."""
        moved = {f.name: getattr(self, f.name) for f in fields(self)}
        for name, value in moved.items():
            if isinstance(value, Tensor):
                pinned = value.pin_memory() if device.type == "cuda" else value
                moved[name] = pinned.to(device, non_blocking=True)
        return Batch(**moved)

    def __len__(self) -> int:
        return len(self.targets)


def padded(rows: Sequence[np.ndarray], length: int, fill: int) -> Int[Tensor, "batch length"]:
    """Rows of ids in one rectangle."""
    table = np.full((len(rows), length), fill, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return torch.from_numpy(table)


def framed(
    rows: Sequence[np.ndarray], length: int, features: int
) -> Float[Tensor, "batch length features"]:
    """Rows of frames in one box."""
    box = np.zeros((len(rows), length, features), dtype=np.float32)
    for number, row in enumerate(rows):
        box[number, : len(row)] = row
    return torch.from_numpy(box)


def lengths_of(rows: Sequence[np.ndarray], length: int) -> Int[Tensor, " batch"] | None:
    """How many places of each row are real; None when all are, which spares the model a mask."""
    lengths = [len(row) for row in rows]
    return None if all(one == length for one in lengths) else torch.tensor(lengths)


def shifted(targets: Sequence[np.ndarray], length: int, begin: int = BEGIN) -> Int[Tensor, "b t"]:
    """Teacher forcing: at each step the model has said what was right one step before."""
    return padded([np.concatenate(([begin], row[:-1])) for row in targets], length, PAD)
