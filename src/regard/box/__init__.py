"""What is in the box: trained models that come with the package, each a folder with a card.

Here is only where they lie and what their cards say; `regard.load` makes one answer.
"""

from __future__ import annotations

from pathlib import Path

from regard.box.card import CARD, Card, read
from regard.errors import MissingFileError, UsageError, nearest

PLACE = Path(__file__).parent / "models"


def names() -> list[str]:
    """All models in the box, the translator that most come for before the others."""
    folders = (path.parent.name for path in PLACE.glob(f"*/{CARD}"))
    return sorted(folders, key=lambda name: (name != "translator", name))


def folder(name: str) -> Path:
    """Where a model lies."""
    if name not in names():
        remedy = nearest(name, names()) if names() else "train one: regard train --help"
        raise MissingFileError(f"there is no model '{name}' in the box", "model", remedy)
    return PLACE / name


def card(name: str) -> Card:
    """What a model is, and how good."""
    own = read(folder(name))
    assert own is not None
    return own


def of_task(task: str) -> list[str]:
    """All models of a task."""
    return [name for name in names() if card(name).task == task]


def first(task: str | None = None) -> str:
    """The model to take when none is named: of a task, or of all."""
    for name in names() if task is None else of_task(task):
        return name
    raise UsageError(
        f"the box has no model for the task '{task}'" if task else "which model?",
        where="regard models",
        remedy="name a run that `regard train` made",
    )
