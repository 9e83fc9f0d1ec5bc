"""The loop, optimiser, schedule, precision, distribution, and what training tells whoever listens."""

from __future__ import annotations

import contextlib
from pathlib import Path

from regard.run.device import choose_device
from regard.run.folder import Run
from regard.run.lock import Lock
from regard.run.settings import RunSettings
from regard.signals import Stop, Stopped
from regard.train.events import Evaluated, Listener, Outcome, Stepped
from regard.train.loop import Trainer
from regard.train.world import World, join

__all__ = [
    "Evaluated",
    "Listener",
    "Outcome",
    "Stepped",
    "Stop",
    "Stopped",
    "Trainer",
    "World",
    "choose_device",
    "join",
    "train",
]


def train(
    folder: Path,
    settings: RunSettings,
    listener: Listener | None = None,
    device: str = "auto",
) -> Outcome:
    """Begin a run in this folder, or go on with it, until it is done or somebody asks to stop."""
    listener = listener or Listener()
    with Stop() as stop, join(device) as world:
        lock = Lock(folder) if world.is_first else contextlib.nullcontext()
        with lock:
            if world.is_first:
                run = Run.create(folder, settings, _polling(listener, stop))
            world.wait()
            if not world.is_first:
                run = Run.open(folder)
            return Trainer(run, world, listener if world.is_first else Listener(), stop).train()


def _polling(listener: Listener, stop: Stop):  # type: ignore[no-untyped-def]  # noqa: ANN202
    def report(what: str, done: int) -> None:
        stop.poll()
        listener.preparing(what, done)

    return report
