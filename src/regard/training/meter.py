"""Means between two reports, which a kill in between does not change."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import final

from torch import Tensor

from regard.training.events import Stepped

TERM = "term."  # before the name of a term, in a checkpoint


@final
class Meter:
    """Sums since the last report; what was summed goes into the checkpoint, clocks do not."""

    def __init__(self) -> None:
        self.began = self.since = time.monotonic()
        self.loss, self.count, self.fresh = 0.0, 0, 0
        self.norm = self.rate = 0.0
        self.parts: dict[str, float] = {}

    def add(
        self,
        loss: float,
        count: int,
        norm: float,
        rate: float,
        parts: Mapping[str, Tensor] | None = None,
    ) -> None:
        """One more step; `parts` are the terms of its objective, where it has several."""
        for name, value in (parts or {}).items():
            self.parts[name] = self.parts.get(name, 0.0) + float(value)
        self.loss += loss
        self.count += count
        self.fresh += count
        self.norm, self.rate = norm, rate

    @property
    def seconds(self) -> float:
        """Since training began."""
        return time.monotonic() - self.began

    def report(self, step: int, epoch: int) -> Stepped | None:
        """The means, or nothing when every step since the last report was skipped; and begin anew."""
        now = time.monotonic()
        report = None
        if self.count:
            speed = self.fresh / max(1e-9, now - self.since)
            mean = self.loss / self.count
            parts = {name: value / self.count for name, value in self.parts.items()}
            seconds = now - self.began
            report = Stepped(step, epoch, mean, self.rate, self.norm, speed, seconds, parts)
        self.loss, self.count, self.fresh, self.since = 0.0, 0, 0, now
        self.parts = {}
        return report

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time that is no part of the speed of training."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.since += time.monotonic() - began

    def as_dict(self) -> dict[str, float]:
        """For the checkpoint."""
        return {"loss": self.loss, "count": self.count, **self._named()}

    def _named(self) -> dict[str, float]:
        return {f"{TERM}{name}": value for name, value in self.parts.items()}

    def restore(self, state: dict[str, float]) -> None:
        """From the checkpoint."""
        self.loss, self.count = state["loss"], int(state["count"])
        self.parts = {
            name.removeprefix(TERM): value for name, value in state.items() if name.startswith(TERM)
        }
