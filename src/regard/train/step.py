"""One step of learning: gradients of all batches of a step, summed, divided by all its targets, then applied.

Summing first and dividing once makes the gradient that of one big batch, however it was cut up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.data.batches import BatchRows
from regard.errors import MemoryLimitError
from regard.models import Model
from regard.run.device import is_out_of_memory
from regard.run.settings import TrainSettings
from regard.tasks import Batch, Task
from regard.train.world import World

SMALLEST = 16  # tokens a batch, below which halving is given up


@final
class Learner(nn.Module):
    """Task and model as one function of a batch, so that wrappers see a plain forward pass."""

    def __init__(self, task: Task, model: Model, smoothing: float) -> None:
        super().__init__()
        self.task, self.model, self.smoothing = task, model, smoothing

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """The loss, summed over the batch's targets."""
        return self.task.loss(self.model, batch, self.smoothing)


@final
@dataclass(frozen=True)
class Summed:
    """A step's loss and targets over all processes, and whether one of them was asked to stop."""

    loss: float
    count: int
    stop: bool

    @property
    def mean(self) -> float:
        """Loss a target."""
        return self.loss / max(1, self.count)


@final
class Stepper:
    """Works out the gradient of a step; the token limit of a piece falls when memory runs out."""

    def __init__(
        self,
        learner: nn.Module,
        settings: TrainSettings,
        seed: int,
        world: World,
        make: Callable[[BatchRows], Batch],
    ) -> None:
        self.learner, self.settings, self.seed, self.world = learner, settings, seed, world
        self.make = make
        self.limit: int | None = None

    def gradients(
        self, step: int, pieces: Sequence[BatchRows], ready: Sequence[Batch], stop: bool
    ) -> Summed:
        """Leave the mean gradient of all targets of all processes in the parameters."""
        while True:
            try:
                batches = ready if self.limit is None else self._cut(pieces, self.limit)
                return self._gradients(step, batches, stop)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as fault:
                if not is_out_of_memory(fault) or self.world.size > 1:
                    raise
                self._lower(pieces, fault)

    def _gradients(self, step: int, batches: Sequence[Batch], stop: bool) -> Summed:
        self.learner.zero_grad(set_to_none=True)
        total, count = torch.zeros((), device=self.world.device, dtype=torch.float64), 0
        for number, batch in enumerate(batches):
            # Randomness is a function of where we are, so a resumed run draws what it would have drawn.
            torch.manual_seed(_mixed(self.seed, step, self.world.rank, number))
            last = number + 1 == len(batches)
            with self._together(last), self._precision():
                loss = self.learner(batch.to(self.world.device))
                loss.backward()
            total += loss.detach()
            count += batch.count
        summed = self.world.total([float(total), float(count), float(stop)])
        result = Summed(summed[0], int(summed[1]), summed[2] > 0)
        self._divide(self.world.size / max(1, result.count))
        return result

    def _together(self, last: bool) -> AbstractContextManager[Any]:
        """Processes exchange gradients once a step, with the last batch."""
        wait = getattr(self.learner, "no_sync", None)
        return wait() if wait is not None and not last else nullcontext()

    def _precision(self) -> AbstractContextManager[Any]:
        if self.settings.precision == "float32":
            return nullcontext()
        return torch.autocast(self.world.device.type, dtype=torch.bfloat16)

    def _divide(self, factor: float) -> None:
        gradients = [p.grad for p in self.learner.parameters() if p.grad is not None]
        torch._foreach_mul_(gradients, factor)

    def _cut(self, pieces: Sequence[BatchRows], limit: int) -> list[Batch]:
        return [self.make(part) for piece in pieces for part in piece.split(limit)]

    def _lower(self, pieces: Sequence[BatchRows], fault: BaseException) -> None:
        largest = max(piece.tokens for piece in pieces)
        self.limit = min(self.limit or largest, largest) // 2
        alone = max(max(piece.source_length, piece.target_length) for piece in pieces)
        if self.limit < SMALLEST or self.limit < alone // 2:
            raise MemoryLimitError(
                f"one example of {alone} tokens does not fit into memory",
                where=f"row {pieces[0].rows[0]} of the training data",
                remedy="lower batch.max_length, or take a smaller model",
            ) from fault
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _mixed(*numbers: int) -> int:
    """One seed from several numbers, far from its neighbours' (splitmix64)."""
    value = 0
    for number in numbers:
        value = (value + number + 0x9E3779B97F4A7C15) % 2**64
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
        value ^= value >> 31
    return value % 2**63


def perplexity(loss: float) -> float:
    """Exp of the mean loss: among how many symbols the model hesitates."""
    return math.exp(min(loss, 700.0))
