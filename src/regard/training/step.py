"""One step of learning: gradients of all batches, each divided by all the targets of the step, are applied.

One divisor for all makes the gradient that of one big batch, however it was cut up.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.data.batches import BatchRows
from regard.errors import MemoryLimitError
from regard.models import Model, RnnDecoder
from regard.run.device import is_out_of_memory, need_bfloat16
from regard.run.settings import TrainSettings
from regard.seams import Seam
from regard.tasks import Batch, Task
from regard.tasks.objective import Objective
from regard.training.world import World

if TYPE_CHECKING:
    from regard.training.feed import Turn
    from regard.training.progress import Learned


@final
class Learner(nn.Module):
    """Task and model as one function of a batch, so that wrappers see a plain forward pass."""

    def __init__(self, task: Task, model: Model, objective: Objective) -> None:
        super().__init__()
        self.task, self.model, self.objective = task, model, objective

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """The objective, summed over the batch's targets."""
        return self.objective(self.task, self.model, batch)


@final
@dataclass(frozen=True, eq=False)
class Summed:
    """A step's loss and targets over all processes, and whether one of them was asked to stop.

    The loss may still be on its way: anyone who turns it into a number waits for the device.
    """

    loss: Float[Tensor, ""]
    count: int
    stop: bool

    @property
    def mean(self) -> float:
        """Loss a target."""
        return float(self.loss) / max(1, self.count)


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
        if settings.precision == "bfloat16":
            need_bfloat16(world.device, "train.precision")
        self.limit: int | None = None
        self.parts: dict[
            str, Tensor
        ] = {}  # the terms of the last step's objective, where it has several
        inner = (part for part in learner.modules() if isinstance(part, Learner))
        self._terms = next((part.objective.parts for part in inner), {})
        self._at = 0

    def gradients(
        self, step: int, pieces: Sequence[BatchRows], ready: Sequence[Batch], stop: bool
    ) -> Summed:
        """Leave the mean gradient of all targets of all processes in the parameters."""
        while True:
            parts, batches = self._fitting(pieces, ready)
            try:
                return self._gradients(step, batches, stop)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as fault:
                if not is_out_of_memory(fault):
                    raise
                self.lower(parts[self._at], fault)

    def _gradients(self, step: int, batches: Sequence[Batch], stop: bool) -> Summed:
        self.learner.zero_grad(set_to_none=True)
        total = torch.zeros((), device=self.world.device, dtype=torch.float64)
        self.parts = {}
        count = sum(batch.count for batch in batches)
        share = 1 / max(1, count) if self.world.size == 1 else 1.0
        for number, batch in enumerate(batches):
            self._at = number
            # Randomness is a function of where we are, so a resumed run draws what it would have drawn,
            # and a batch draws the same whichever process has it.
            self.draw(step, number * self.world.size + self.world.rank)
            last = number + 1 == len(batches)
            with self._together(last):
                total += self.backward(batch.to(self.world.device), share)
        result = Summed(total, count, stop)
        if self.world.size > 1:
            summed = self.world.total([float(total), float(count), float(stop)])
            result = Summed(torch.tensor(summed[0]), int(summed[1]), summed[2] > 0)
            self._multiply(self.world.size / max(1, result.count))
        return result

    def draw(self, step: int, place: int = 0) -> None:
        """From now on, random numbers are those of this step and of the batch in this place."""
        torch.manual_seed(_mixed(self.seed, step, place))

    def backward(self, batch: Batch, share: float | Float[Tensor, ""]) -> Float[Tensor, ""]:
        """Add the gradient of a batch, times `share`, to that of the parameters; its loss.

        Where the backward pass begins with the share, no pass over all gradients is needed to divide them.
        """
        with self._precision():
            loss: Tensor = self.learner(batch)
            given = (
                share.to(loss.dtype) if isinstance(share, Tensor) else torch.full_like(loss, share)
            )
            loss.backward(given)
        for name, value in self._terms.items():
            self.parts[name] = self.parts[name] + value if name in self.parts else value
        return loss.detach()

    def _multiply(self, factor: float) -> None:
        gradients = [p.grad for p in self.learner.parameters() if p.grad is not None]
        torch._foreach_mul_(gradients, factor)

    def _together(self, last: bool) -> AbstractContextManager[Any]:
        """Processes exchange gradients once a step, with the last batch."""
        wait = getattr(self.learner, "no_sync", None)
        return wait() if wait is not None and not last else nullcontext()

    def _precision(self) -> AbstractContextManager[Any]:
        if self.settings.precision == "float32":
            return nullcontext()
        return torch.autocast(self.world.device.type, dtype=torch.bfloat16)

    def _fitting(
        self, pieces: Sequence[BatchRows], ready: Sequence[Batch]
    ) -> tuple[Sequence[BatchRows], Sequence[Batch]]:
        """The step's batches, cut smaller where memory has run out before."""
        if self.limit is None or all(piece.tokens <= self.limit for piece in pieces):
            return pieces, ready
        parts = [part for piece in pieces for part in piece.split(self.limit)]
        return parts, [self.make(part) for part in parts]

    def lower(self, part: BatchRows, fault: BaseException) -> None:
        """From now on, batches of at most half the size of the one that did not fit (T10)."""
        if self.world.size > 1:  # the others wait for a gradient that this process cannot give
            raise MemoryLimitError(
                f"a batch of {part.tokens} tokens does not fit into memory",
                where=f"process {self.world.rank} of {self.world.size}",
                remedy="lower batch.tokens, and raise train.accumulate by as much",
            ) from fault
        if part.packed:
            raise MemoryLimitError(
                f"a packed batch of {part.tokens} tokens does not fit into memory",
                where="batch.tokens",
                remedy="lower batch.tokens, and raise train.accumulate by as much",
            ) from fault
        if len(part.rows) <= 1:
            raise MemoryLimitError(
                f"one example of {max(part.source_length, part.target_length)} tokens does not fit "
                "into memory",
                where=", ".join(f"row {row} of the training data" for row in part.rows),
                remedy="lower batch.max_length, or take a smaller model",
            ) from fault
        self.limit = part.tokens // 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


class WholeSteps(ABC):
    """Takes whole steps, gradient and update together, where it can."""

    @abstractmethod
    def take(self, step: int, turn: Turn) -> Callable[[], list[float]] | None:
        """The step's numbers, to be read later; None if it was not taken, and must be in the usual way."""


class StepForm(ABC):
    """Takes whole steps of some trainings otherwise than operation by operation."""

    @abstractmethod
    def takes(self, settings: TrainSettings, world: World, learned: Learned) -> bool:
        """Whether steps of this training are known here, and had better be taken here."""

    @abstractmethod
    def prepare(
        self, stepper: Stepper, learned: Learned, tell: Callable[[str], None]
    ) -> WholeSteps:
        """Ready for the first step; `tell` hears why steps are not taken here after all."""


STEP: Seam[StepForm] = Seam("step", "cuda_graph.training_step")


def step_form(settings: TrainSettings, world: World, learned: Learned) -> StepForm | None:
    """The first form that takes the steps of this training, if there is one."""
    return next((form for form in STEP.forms() if form.takes(settings, world, learned)), None)


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


# What is compiled, and what the compiler is spared: a message that takes longer than its code.


def compiled(learner: nn.Module, model: Model, shapes: int, *, recorded: bool) -> nn.Module:
    """One function for all batches, unless a recurrent decoder is recorded, or waits for its own last step.

    A call of a compiled function for each of its steps costs more than it saves a GPU; recordings make none.
    """
    reader = model.reader
    if isinstance(reader, RnnDecoder) and (recorded or reader.is_stepwise):
        if not next(model.parameters()).is_cuda:
            reader.compile_steps()
        return learner
    shorten_messages()
    return torch.compile(learner, dynamic=shapes > 1)  # type: ignore[return-value]


def shorten_messages() -> None:
    """An operator that the compiler only calls is named, not drawn with all that it was fed by.

    Torch 2.11 writes that drawing for a log which nobody reads, and it doubles with every sum that goes two
    ways: six layers of ours would take it hours. Later ones write it when somebody asks.
    """
    from torch._inductor.exc import OperatorIssue

    OperatorIssue.operator_str = staticmethod(_named)  # type: ignore[assignment, method-assign]


def _named(target: Any, fed: Sequence[Any], also: Mapping[str, Any]) -> str:
    return f"{target} of {len(fed) + len(also)} arguments"
