"""The tasks by name: where a name in the settings becomes a task."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from regard import presets
from regard.data.example import Kind
from regard.tasks.classify import Classify
from regard.tasks.fill import Fill
from regard.tasks.language import Language
from regard.tasks.names import LEARNS_FROM
from regard.tasks.point import Point
from regard.tasks.tag import Tag
from regard.tasks.task import Task
from regard.tasks.translate import Translate

TASKS: dict[str, type[Task]] = {
    kind.name: kind for kind in (Translate, Tag, Classify, Point, Language, Fill)
}


def register(task: type[Task], example: Kind, preset: str) -> ExitStack:
    """Make a task known: what it learns from, and the preset that it is learned with by default.

    For ever, or as long as a `with` lasts.
    """
    tables: tuple[dict[str, Any], ...] = (TASKS, LEARNS_FROM, presets.DEFAULT_OF)
    known = ExitStack()
    for table, value in zip(tables, (task, example, preset), strict=True):
        table[task.name] = value
        known.callback(table.pop, task.name, None)
    return known
