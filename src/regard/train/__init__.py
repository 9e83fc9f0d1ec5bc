"""The loop, optimiser, schedule, precision, distribution, and what training tells whoever listens."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from regard.run.device import choose_device
from regard.run.folder import Report, Run
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
    allow: Collection[str] = (),
) -> Outcome:
    """Begin a run in this folder, or go on with it, until it is done or somebody asks to stop.

    A run goes on with the settings it was begun with; `allow` names those that may be others now.
    """
    listener = listener or Listener()
    with Stop() as stop, join(device) as world:
        if not world.is_first:
            world.wait_long()
            return Trainer(Run.open(folder), world, Listener(), stop).train()
        with Lock(folder):
            run = Run.create(folder, settings, _polling(listener, stop), allow)
            for note in run.notes:
                listener.noted(note)
            world.wait_long()
            return Trainer(run, world, listener, stop).train()


def _polling(listener: Listener, stop: Stop) -> Report:
    def report(what: str, done: int) -> None:
        stop.poll()
        listener.preparing(what, done)

    return report
