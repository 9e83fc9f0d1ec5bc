"""Averages of the weights along the way often beat the last ones (Polyak 1992, Izmailov 2018)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import final

import torch
from torch import Tensor, nn

from regard.training.shard import like


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
