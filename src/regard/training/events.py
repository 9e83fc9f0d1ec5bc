"""What training tells anyone who listens: a progress bar, a page, a test."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

from regard.data.check import Report
from regard.evaluate import Metric
from regard.run.folder import Run
from regard.signals import Stop
from regard.traces.trace import Trace


@final
@dataclass(frozen=True)
class Stepped:
    """How things stand, every few steps; the loss is a mean over the targets since the last report."""

    step: int
    epoch: int
    loss: float
    rate: float
    norm: float
    tokens_per_second: float
    seconds: float
    terms: Mapping[str, float] = field(default_factory=dict)  # of an objective that has several

    def as_dict(self) -> dict[str, Any]:
        """A line of metrics.jsonl; each term of the objective by its name."""
        line = {name: value for name, value in self.__dict__.items() if name != "terms"}
        return {"kind": "train", **line, **({"terms": dict(self.terms)} if self.terms else {})}


@final
@dataclass(frozen=True)
class Evaluated:
    """How good the model is on what it never saw."""

    step: int
    epoch: int
    loss: float
    perplexity: float
    metrics: tuple[Metric, ...]
    is_best: bool

    def as_dict(self) -> dict[str, Any]:
        """A line of metrics.jsonl."""
        return {
            "kind": "valid",
            "step": self.step,
            "epoch": self.epoch,
            "loss": _finite(self.loss),
            "perplexity": _finite(self.perplexity),
            "is_best": self.is_best,
            "metrics": [metric.as_dict() for metric in self.metrics],
        }


@final
@dataclass(frozen=True)
class Outcome:
    """How training ended, and the best it found."""

    step: int
    reason: str
    best_step: int
    best_loss: float
    metrics: tuple[Mapping[str, Any], ...] = ()
    signal: int | None = None


def _finite(value: float) -> float | None:
    """JSON has no other numbers."""
    return value if math.isfinite(value) else None


class Listener:
    """Hears everything and does nothing; a subclass overrides what it cares for."""

    def preparing(self, what: str, done: int) -> None:
        """Data is being made ready."""

    def examined(self, report: Report) -> None:
        """Files were looked at before anything is learned from them."""

    def began(self, run: Run, facts: Mapping[str, Any]) -> None:
        """Training begins, or goes on at facts["step"]."""

    def noted(self, message: str) -> None:
        """Something a person should read."""

    def advanced(self, step: int, seconds: float) -> None:
        """One more step was taken, so many seconds after training began: every step is told."""

    def judging(self, done: int, total: int) -> None:
        """The model is tried on held-out examples, and so many are done."""

    def stepped(self, report: Stepped) -> None:
        """Some steps were taken, and their loss is known."""

    def evaluated(self, report: Evaluated) -> None:
        """The model was tried on held-out examples."""

    def sampled(self, step: int, traces: list[Trace]) -> None:
        """The fixed sentences were answered, and looked into."""

    def finished(self, outcome: Outcome) -> None:
        """Training ended."""


@final
class Lasting(Listener):
    """Tells another listener until its terminal is gone; then training goes on, or stops, unheard."""

    def __init__(self, listener: Listener, stop: Stop) -> None:
        self._stop = stop
        for event in vars(Listener):
            if not event.startswith("_"):
                setattr(self, event, self._lasting(getattr(listener, event)))

    def _lasting(self, tell: Callable[..., None]) -> Callable[..., None]:
        def tell_if_heard(*what: Any) -> None:
            try:
                tell(*what)
            except OSError as fault:
                if fault.errno != errno.EIO or not self._stop.mute():
                    raise

        return tell_if_heard
