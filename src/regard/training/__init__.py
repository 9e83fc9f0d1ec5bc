"""The loop, optimiser, schedule, precision, distribution, and what training tells anyone who listens.

It can be called, too: `regard.train("train.en", "train.de")`, which `help(regard.api.train)` explains.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from regard.data.check import examine
from regard.run.corpus import Corpus, refuse_empty
from regard.run.device import choose_device
from regard.run.folder import Report, Run
from regard.run.load import refuse_unbuildable
from regard.run.lock import Lock
from regard.run.settings import RunSettings
from regard.signals import Stop, Stopped
from regard.training.events import Evaluated, Lasting, Listener, Outcome, Stepped
from regard.training.loop import Trainer
from regard.training.world import World, join

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

LOOKED_AT = 1_000_000  # examples of a file that are looked at: what ails it shows by then


def train(
    folder: Path,
    settings: RunSettings,
    listener: Listener | None = None,
    device: str = "auto",
    allow: Collection[str] = (),
) -> Outcome:
    """Begin a run in this folder, or go on with it, until it is done or somebody asks to stop.

    A run continues with the settings it was begun with; `allow` names those that may be others now.
    """
    listener = listener or Listener()
    with Stop() as stop, join(device) as world:
        listener = Lasting(listener, stop)
        if not world.is_first:
            world.wait_long()
            return Trainer(Run.open(folder), world, Listener(), stop).train()
        with Lock(folder):
            refuse_unbuildable(settings)
            is_told = _look(folder, settings, listener, stop)
            run = Run.create(folder, settings, _polling(listener, stop), allow)
            for note in () if is_told else run.notes:
                listener.noted(note)
            world.wait_long()
            return Trainer(run, world, listener, stop).train()


def _look(folder: Path, settings: RunSettings, listener: Listener, stop: Stop) -> bool:
    """Files that nothing was learned from yet are looked at: what was understood, three rows, warnings."""
    if settings.data.toy is not None or (folder / "tokenizer.json").is_file():
        return False
    corpus, report = Corpus.of(settings.data, settings.task), _polling(listener, stop)
    if corpus.train is None:
        return False
    survey = examine(
        corpus.train,
        corpus.valid,
        most=LOOKED_AT,
        advance=lambda seen: report("looking at the data", seen),
    )
    listener.examined(survey)
    if next(corpus.examples("valid"), None) is None:
        refuse_empty("valid", 0, corpus)
    return True


def _polling(listener: Listener, stop: Stop) -> Report:
    def report(what: str, done: int) -> None:
        stop.poll()
        listener.preparing(what, done)

    return report
