"""AdamW, how its rate moves, and how its state is named on disk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import final

import torch
from torch import Tensor, nn

from regard.run.settings import TrainSettings
from regard.training.shard import like


def make_optimiser(model: nn.Module, settings: TrainSettings) -> torch.optim.AdamW:
    """AdamW; weight decay is for matrices, not for biases and gains."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    matrices = [p for _, p in named if p.dim() > 1]
    others = [p for _, p in named if p.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": settings.decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=settings.rate,
        betas=settings.betas,
        eps=settings.epsilon,
        fused=any(p.is_cuda for p in matrices),
    )


def rate_at(step: int, settings: TrainSettings, width: int) -> float:
    """The learning rate of step 1, 2, ..: up over the warm-up, then down by the schedule."""
    warmup = max(1, settings.warmup)
    rise = min(1.0, step / warmup)
    match settings.schedule:
        case "constant":
            return settings.rate * rise
        case "inverse-sqrt":
            return settings.rate * min(rise, math.sqrt(warmup / max(step, warmup)))
        case "noam":  # Vaswani 2017, section 5.3
            return settings.rate * width**-0.5 * min(step**-0.5, step * warmup**-1.5)
        case "cosine":
            left = max(1, settings.steps - warmup)
            done = min(1.0, max(0, step - warmup) / left)
            return settings.rate * rise * 0.5 * (1 + math.cos(math.pi * done))


def width_of(model: nn.Module) -> int:
    """The width that the Noam schedule scales by."""
    embedding = next((m for m in model.modules() if isinstance(m, nn.Embedding)), None)
    return 512 if embedding is None else embedding.embedding_dim


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """From now on; a rate on the device is written where it lies, so that a recorded step reads it."""
    for group in optimiser.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def optimiser_tensors(optimiser: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """The moments of each parameter, under the parameter's name."""
    moments = {}
    for name, parameter in model.named_parameters():
        for key, value in optimiser.state.get(parameter, {}).items():
            moments[f"{name}.{key}"] = value
    return moments


def restore_optimiser(
    optimiser: torch.optim.Optimizer, model: nn.Module, tensors: Mapping[str, Tensor]
) -> None:
    """Put the moments back where they were; those that are there keep their place in memory."""
    for name, parameter in model.named_parameters():
        keys = [key for key in ("step", "exp_avg", "exp_avg_sq") if f"{name}.{key}" in tensors]
        state = {key: tensors[f"{name}.{key}"] for key in keys}
        own = optimiser.state.get(parameter, {})
        if own:
            for key, value in state.items():
                own[key].copy_(like(value, own[key]))
        elif state:
            # The step counter stays on the CPU unless the kernel is fused.
            fused = bool(optimiser.param_groups[0].get("fused"))
            state["step"] = state["step"].to(parameter.device if fused else "cpu")
            for key in ("exp_avg", "exp_avg_sq"):
                state[key] = like(state[key], parameter)
            optimiser.state[parameter] = state


# Averages of the weights along the way often beat the last ones (Polyak 1992, Izmailov 2018).


@final
class MovingAverage:
    """average = decay * average + (1 - decay) * weights after each step; young averages move faster."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """After step 1, 2, .."""
        decay = min(self.decay, (1 + step) / (10 + step))
        theirs = [parameter.detach() for _, parameter in model.named_parameters()]
        torch._foreach_lerp_(list(self.weights.values()), theirs, 1 - decay)

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """From a checkpoint's average, or from its weights where it has none."""
        for name, own in self.weights.items():
            own.copy_(like(tensors[name], own))

    @contextmanager
    def shown(self, model: nn.Module) -> Iterator[None]:
        """The model with the averaged weights, for as long as the `with` lasts."""
        own = {name: p.detach().clone() for name, p in model.named_parameters()}
        put(model, self.weights)
        try:
            yield
        finally:
            put(model, own)


def mean_of(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several saved weights, worked out in double precision."""
    first, *_ = states
    mean: dict[str, Tensor] = {}
    tied: dict[int, Tensor] = {}
    for name, value in first.items():
        if value.data_ptr() in tied and value.numel():
            mean[name] = tied[value.data_ptr()]
            continue
        if not value.is_floating_point():
            mean[name] = value
            continue
        stacked = torch.stack([state[name].double() for state in states])
        mean[name] = stacked.mean(0).to(value.dtype)
        tied[value.data_ptr()] = mean[name]
    return mean


@torch.no_grad()
def put(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    for name, parameter in model.named_parameters():
        parameter.copy_(weights[name])
