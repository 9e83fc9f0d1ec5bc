"""From a gradient to new weights, without waiting for the device.

A step's numbers are read when the next step is already under way: reading them at once would leave the device
idle until we had something new for it. What must not happen in between, numbers that are not finite in the
weights, the device sees to itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.training import shard
from regard.training.feed import Position, Turn
from regard.training.progress import Learned
from regard.training.step import Summed


@final
@dataclass(frozen=True, eq=False)
class Taken:
    """A step as it was taken; its numbers are there when `read` is called."""

    step: int
    turn: Turn
    before: Position
    count: int
    rate: float
    read: Callable[[], list[float]]
    parts: Mapping[str, Tensor] = field(
        default_factory=dict
    )  # the terms of the objective, if several

    def numbers(self) -> tuple[float, float, list[float]]:
        """The summed loss, the length of the gradient, and that of each parameter's."""
        loss, norm, *norms = self.read()
        return loss, norm, norms


def apply(learned: Learned, summed: Summed, clip: float) -> Callable[[], list[float]]:
    """Clip the gradient and take the step, unless a number is not finite; the numbers, to be read later."""
    return later(stepped(learned, summed.loss, clip))


def stepped(learned: Learned, loss: Float[Tensor, ""], clip: float) -> Float[Tensor, " numbers"]:
    """The same; its numbers where they lie: the loss, the length of the gradient and of each parameter's."""
    norms = shard.norms(learned.model)
    norm = torch.linalg.vector_norm(norms)
    loss = loss.to(norm.device)
    finite = norm.isfinite() & loss.isfinite()
    numbers = torch.cat([loss.double().view(1), norm.double().view(1), norms.double()])
    factor = (clip / (norm + 1e-6)).clamp(max=1.0)
    if learned.is_fused:
        _step_on_device(learned.optimiser, factor, finite)
    elif bool(finite):
        _scale(learned.model, float(factor))
        learned.optimiser.step()
    return numbers


def _step_on_device(optimiser: torch.optim.Optimizer, factor: Tensor, finite: Tensor) -> None:
    """The fused step divides by a scale, and does nothing where it finds that it should not."""
    optimiser.grad_scale = factor.reciprocal()  # type: ignore[attr-defined]
    optimiser.found_inf = (~finite).float()  # type: ignore[attr-defined]
    optimiser.step()
    changed(optimiser)


def changed(optimiser: torch.optim.Optimizer) -> None:
    """Say that the weights are new: torch does not of a fused step, and does not see a recorded one.

    Who keeps copies of them, as the search does, would take them for the same.
    """
    for group in optimiser.param_groups:
        torch.autograd.graph.increment_version(group["params"])


def _scale(model: nn.Module, factor: float) -> None:
    if factor < 1.0:
        torch._foreach_mul_([p.grad for p in model.parameters() if p.grad is not None], factor)


def later(numbers: Float[Tensor, " numbers"]) -> Callable[[], list[float]]:
    """The numbers of a device, fetched without waiting; the call that reads them waits if it must."""
    if not numbers.is_cuda:
        return numbers.clone().tolist
    here = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
    here.copy_(numbers, non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record()

    def read() -> list[float]:
        arrived.synchronize()
        return here.tolist()

    return read


def unfit(model: nn.Module, norms: list[float]) -> list[str]:
    """The parameters whose gradient is not finite."""
    named = zip(model.named_parameters(), norms, strict=True)
    return [name for (name, _), norm in named if not math.isfinite(norm)]
