"""The tasks by name, and what each learns from; known without torch, so that a slip is told at once."""

from __future__ import annotations

from regard.data.example import (
    Captioned,
    Kind,
    Labelled,
    Line,
    Pair,
    Parsed,
    Pointed,
    Several,
    Spoken,
    Tagged,
)
from regard.errors import UsageError, nearest

LEARNS_FROM: dict[str, Kind] = {
    "translate": Pair,
    "tag": Tagged,
    "classify": Labelled,
    "point": Pointed,
    "language": Line,
    "fill": Line,
    "reconstruct": Line,
    "multisource": Several,
    "parse": Parsed,
    "caption": Captioned,
    "summarise": Pair,
    "transcribe": Spoken,
}
PACKS = {"translate"}  # tasks whose rows may lie end to end in one batch
AT_ONCE = {"tag", "classify", "fill"}  # tasks whose answers are chosen at once: nothing is searched
ONE_ANSWER = {"tag"}  # tasks that give no alternatives
BY_SENTENCES = {"translate", "summarise"}  # tasks that can read running text sentence by sentence
READS_FILES = {"caption": "picture", "transcribe": "sound"}  # tasks whose questions name files
COMMANDS = {  # the command that asks a model of this task; any other is asked by `regard predict`
    "translate": "translate",
    "tag": "tag",
    "classify": "classify",
    "point": "point",
    "language": "continue",
    "caption": "caption",
    "transcribe": "transcribe",
}


def task_for(kind: Kind) -> str:
    """The first task that learns from such examples."""
    return next(name for name, example in LEARNS_FROM.items() if example is kind)


def example_of(name: str | None) -> Kind | None:
    """What a task learns from; None where no task was named. A slip is an error with the nearest name."""
    if name is None:
        return None
    if name not in LEARNS_FROM:
        what = f"there is no task '{name}'"
        raise UsageError(what, where="task", remedy=nearest(name, LEARNS_FROM))
    return LEARNS_FROM[name]
