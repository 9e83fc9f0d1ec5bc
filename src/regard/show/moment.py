"""What training has told so far, in one value: all that a picture of it needs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from regard.data.tally import counted
from regard.data.toys import TOYS
from regard.evaluate import Metric
from regard.run.folder import Run
from regard.settings.architecture import ReaderSettings, RnnReaderSettings
from regard.show.label import one_line
from regard.traces.trace import Trace
from regard.training.events import Evaluated, Stepped


@final
@dataclass
class Moment:
    """All that was told: reports, evaluations, and the sentence that is watched."""

    steps: int
    first: int  # the step that training begins at, or goes on from
    bounded: bool  # whether training may end before its last step
    question: str = ""
    right: str = ""
    opening: tuple[int, float] | None = None  # the first step and its seconds: it also gets ready
    latest: tuple[int, float] | None = None  # the last step that was taken, and its seconds
    judging: tuple[int, int] | None = (
        None  # while held-out examples are judged: how many of how many
    )
    smoothing: float = 0.0  # of labels, in the loss of training; the held-out loss has none
    report: Stepped | None = None
    losses: list[float] = field(default_factory=list)
    evaluations: list[Evaluated] = field(default_factory=list)
    trace: Trace | None = None

    @property
    def best(self) -> Evaluated | None:
        """The evaluation whose weights are kept."""
        return next((one for one in reversed(self.evaluations) if one.is_best), None)

    @property
    def step(self) -> int:
        """The last step that was taken."""
        return self.latest[0] if self.latest is not None else self.first

    def advance(self, step: int, seconds: float) -> None:
        """One more step was taken."""
        self.opening = self.opening or (step, seconds)
        self.latest, self.judging = (step, seconds), None

    def time_left(self) -> str:
        """`1:12 left`, or `at most 1:12 left`, if it goes on as it went so far.

        A first step alone tells nothing: caches fill, memory is found, code is compiled.
        """
        if self.opening is None or self.latest is None:
            return ""
        (begin, before), (step, seconds) = self.opening, self.latest
        if step >= self.steps:
            return f"done in {duration(seconds)}"
        if step <= begin:
            return ""
        left = duration((seconds - before) / (step - begin) * (self.steps - step))
        return f"at most {left} left" if self.bounded else f"{left} left"


def duration(seconds: float) -> str:
    """`0:07`, `12:05`, `3:00:00`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def told(report: Stepped, smoothing: float = 0.0) -> str:
    """One report on one line; a loss with label smoothing is called so, as the held-out loss has none."""
    name = "smoothed loss" if smoothing else "loss"
    return (
        f"{name} {report.loss:.3f}   {report.tokens_per_second:,.0f} tokens/s   "
        f"rate {report.rate:.2g}   epoch {report.epoch + 1}"
    )


def judged(report: Evaluated) -> str:
    """One evaluation on one line."""
    metrics = [f"{metric.name} {metric.value:.1f}" for metric in report.metrics]
    return "   ".join([f"loss {report.loss:.3f}", *metrics])


def recall(moment: Moment, run: Run) -> None:
    """What was told before training was interrupted, from the run's own records."""
    for entry in run.recorded("metrics"):
        if entry["kind"] == "train":
            moment.losses.append(_number(entry["loss"]))
        elif entry["kind"] == "valid":
            moment.evaluations.append(_evaluated(entry))


def _evaluated(entry: Mapping[str, Any]) -> Evaluated:
    return Evaluated(
        step=entry["step"],
        epoch=entry["epoch"],
        loss=_number(entry["loss"]),
        perplexity=_number(entry["perplexity"]),
        metrics=tuple(
            Metric(one["name"], _number(one["value"]), one["signature"]) for one in entry["metrics"]
        ),
        is_best=entry["is_best"],
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


# What training works with, in words: task, data, model, batches, machine.


def facts_of(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A name and a value each."""
    data, model = run.settings.data, run.settings.model
    toy = TOYS.get(data.toy or "")
    named = f"{toy.name}: {toy.title}" if toy else ", ".join(Path(one).name for one in data.train)
    examples = counted(facts["examples"], "example")
    skipped = f", {facts['skipped']:,} too long and left out" if facts["skipped"] else ""
    yield "task", run.task.name
    yield "data", f"{one_line(named)} ({examples}{skipped})"
    parts = [run.reads] if model.encoder or model.encoders else []
    parts.append(f"{model.reader.kind} reader")
    parts += _attention(model.reader)
    yield "model", f"{', '.join(parts)}, {facts['parameters']:,} parameters"
    shapes = counted(facts["shapes"], "shape")
    a_step = f"{facts['batches_a_step']} a step, " if facts["batches_a_step"] > 1 else ""
    places = f"{a_step}up to {run.settings.batch.tokens:,} places each in {shapes}"
    yield "batches", f"{places}, {facts['waste']:.1%} padding"
    if smoothing := run.settings.objective.smoothing:
        yield "loss", f"in training with label smoothing {smoothing:g}, on held-out data without"
    yield "machine", machine(facts["device"], facts["world"])
    if run.settings.train.compile:
        yield "compiler", "makes the first step a long one: up to a minute"


def _attention(reader: ReaderSettings) -> Iterator[str]:
    """What a reader attends to, in words, and by which score."""
    score = getattr(reader, "score", None)
    if not isinstance(reader, RnnReaderSettings):
        yield from [f"{score} attention"] if score else []
        return
    looks_back = ["lstmn that looks back"] if reader.cell == "lstmn" else []
    points_back = [f"pointer to {reader.points_back} words"] if reader.points_back else []
    source = [f"{score} attention"] if score != "none" else []
    yield from source + looks_back + points_back or ["no attention"]


def machine(device: str, world: int) -> str:
    """The hardware that was found."""
    import torch

    if device.startswith("cuda"):
        name = torch.cuda.get_device_name(device)
    else:
        name = f"CPU, {torch.get_num_threads()} of {counted(os.cpu_count() or 1, 'core')}"
    return f"{world} processes, each {name}" if world > 1 else name
