"""Watch over the numbers: nothing that is not finite reaches the weights, and spikes are told."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from torch import Tensor

from regard.errors import DivergedError
from regard.run import files
from regard.training.events import Stepped

IN_A_ROW, IN_A_THOUSAND = 3, 10  # skipped steps that are too many (T8)
# A spike is this far above the usual of the last steps, this often in a row (T9).
WINDOW, SIGMAS, PERSISTS = 200, 6.0, 3


@final
class Guard:
    """Counts skipped steps and remembers recent losses."""

    def __init__(self, folder: Path, writes: bool = True) -> None:
        self.folder, self.writes = folder, writes
        self.skipped: list[int] = []
        self.losses: deque[float] = deque(maxlen=WINDOW)
        self.above = 0

    def skip(self, step: int, rows: Sequence[int], bad: Sequence[str], loss: float) -> str:
        """A step whose numbers are not finite is not taken; too many of them end training.

        `bad` names the parameters with such gradients. Every process must call this, and all come to the
        same end.
        """
        self.skipped.append(step)
        report = {
            "step": step,
            "loss": loss if math.isfinite(loss) else None,
            "first_bad_gradient": bad[0] if bad else None,
            "bad_gradients": len(bad),
            "rows": [int(row) for row in rows],
            "skipped_steps": self.skipped[-1000:],
        }
        path = self.folder / "nan-report.json"
        if self.writes:
            files.write_atomic(path, json.dumps(report, indent=1, allow_nan=False).encode())
        recent = [one for one in self.skipped if one > step - 1000]
        in_a_row = self.skipped[-IN_A_ROW:] == list(range(step - IN_A_ROW + 1, step + 1))
        if in_a_row or len(recent) > IN_A_THOUSAND:
            raise DivergedError(
                f"training diverged at step {step}: {len(recent)} of the last 1,000 steps had numbers "
                "that are not finite",
                where=str(path),
                remedy="lower train.rate, raise train.warmup, or use train.precision = 'float32'",
            )
        return f"step {step} skipped: the gradient is not finite (see {path.name})"

    def spike(self, loss: float) -> bool:
        """Whether the loss has left its usual range for several steps in a row."""
        far = False
        if len(self.losses) >= WINDOW // 2:
            middle = statistics.median(self.losses)
            spread = statistics.median(abs(one - middle) for one in self.losses)
            far = loss > middle + SIGMAS * 1.4826 * max(spread, 1e-3)
        if not far:
            self.losses.append(loss)
        self.above = self.above + 1 if far else 0
        return self.above == PERSISTS

    def as_dict(self) -> dict[str, Any]:
        """For the checkpoint."""
        return {"skipped": self.skipped, "losses": list(self.losses), "above": self.above}

    def restore(self, state: dict[str, Any]) -> None:
        """From the checkpoint."""
        self.skipped = list(state["skipped"])
        self.losses = deque(state["losses"], maxlen=WINDOW)
        self.above = int(state["above"])


# Means between two reports, which a kill in between does not change.

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
