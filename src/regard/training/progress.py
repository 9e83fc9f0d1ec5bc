"""What training changes from step to step: the tensors it learns, and how far it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from regard.models import Model, with_open_gates
from regard.run import weights
from regard.run.checkpoint import Checkpoint
from regard.run.settings import TrainSettings
from regard.training import shard
from regard.training.feed import Position
from regard.training.optimise import (
    MovingAverage,
    make_optimiser,
    optimiser_tensors,
    restore_optimiser,
)


@final
@dataclass
class Progress:
    """How far training is, and the best it found."""

    step: int = 0
    position: Position = field(default_factory=Position)
    best: float = math.inf
    best_step: int = 0
    stale: int = 0  # evaluations since the best one
    evaluated_step: int = -1

    def as_dict(self) -> dict[str, Any]:
        """For the checkpoint."""
        return {
            "step": self.step,
            "epoch": self.position.epoch,
            "batch": self.position.batch,
            "best": None if self.best == math.inf else self.best,
            "best_step": self.best_step,
            "stale": self.stale,
            "evaluated_step": self.evaluated_step,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """From the checkpoint."""
        self.step = state["step"]
        self.position = Position(state["epoch"], state["batch"])
        self.best = math.inf if state["best"] is None else state["best"]
        self.best_step, self.stale = state["best_step"], state["stale"]
        self.evaluated_step = state["evaluated_step"]

    def judge(self, value: float) -> bool:
        """Take note of an evaluation, where less is better; whether it is the best so far."""
        self.evaluated_step = self.step
        if value < self.best:
            self.best, self.best_step, self.stale = value, self.step, 0
            return True
        self.stale += 1
        return False

    def over(self, settings: TrainSettings) -> str | None:
        """Why training is over, if it is."""
        if self.step >= settings.steps:
            return f"{self.step:,} steps done"
        if settings.epochs is not None and self.position.epoch >= settings.epochs:
            return f"{settings.epochs} epochs done"
        if settings.patience is not None and self.stale >= settings.patience:
            return f"no better for {self.stale} evaluations"
        return None


@final
class Learned:
    """The weights, the optimiser's moments and, if asked for, the moving average; whole or spread."""

    def __init__(self, model: Model, settings: TrainSettings) -> None:
        self.model = model
        self.optimiser = make_optimiser(model, settings)
        # A spread model's step needs the host: its parts lie on several devices.
        spread = any(isinstance(p, DTensor) for p in model.parameters())
        self.is_fused = bool(self.optimiser.param_groups[0].get("fused")) and not spread
        if self.is_fused:  # a recorded step reads its rate from the device
            for group in self.optimiser.param_groups:
                group["lr"] = torch.tensor(group["lr"], device=group["params"][0].device)
        averaged = settings.average == "ema"
        self.average = MovingAverage(model, settings.ema_decay) if averaged else None

    def tensors(self) -> dict[str, Mapping[str, Tensor]]:
        """For the checkpoint; every process must call this."""
        tensors: dict[str, Mapping[str, Tensor]] = {
            "model": shard.full(self.model.state_dict()),
            "optimizer": shard.full(optimiser_tensors(self.optimiser, self.model)),
        }
        if self.average is not None:
            tensors["average"] = shard.full(self.average.weights)
        return tensors

    def put(self, checkpoint: Checkpoint) -> None:
        """From the checkpoint, which must be of this very model."""
        tensors = checkpoint.tensors
        expected = {
            name: (tuple(tensor.shape), tensor.dtype)
            for name, tensor in self.model.state_dict().items()
        }
        state = with_open_gates(self.model, tensors["model"])
        weights.check_against(expected, state, str(checkpoint.folder))
        shard.load(self.model, state)
        restore_optimiser(self.optimiser, self.model, tensors["optimizer"])
        if self.average is not None:
            self.average.restore(tensors.get("average", tensors["model"]))
