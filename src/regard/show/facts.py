"""What training works with, in words: task, data, model, batches, machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from regard.data.example import counted
from regard.data.toys import TOYS
from regard.run.folder import Run
from regard.show.label import one_line


def facts_of(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A name and a value each."""
    data, model = run.settings.data, run.settings.model
    toy = TOYS.get(data.toy or "")
    named = f"{toy.name}: {toy.title}" if toy else ", ".join(Path(one).name for one in data.train)
    examples = counted(facts["examples"], "example")
    skipped = f", {facts['skipped']:,} too long and left out" if facts["skipped"] else ""
    yield "task", run.task.name
    yield "data", f"{one_line(named)} ({examples}{skipped})"
    parts = [f"{model.encoder.kind} encoder"] if model.encoder else []
    parts.append(f"{model.reader.kind} reader")
    if score := getattr(model.reader, "score", None):
        parts.append("no attention" if score == "none" else f"{score} attention")
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


def machine(device: str, world: int) -> str:
    """The hardware that was found."""
    import torch

    if device.startswith("cuda"):
        name = torch.cuda.get_device_name(device)
    else:
        name = f"CPU, {torch.get_num_threads()} of {counted(os.cpu_count() or 1, 'core')}"
    return f"{world} processes, each {name}" if world > 1 else name
