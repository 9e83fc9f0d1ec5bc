"""The closed set of tasks by name."""

from __future__ import annotations

from regard.data.example import TaskName
from regard.tasks.classify import Classify
from regard.tasks.language import Language
from regard.tasks.point import Point
from regard.tasks.tag import Tag
from regard.tasks.task import Task
from regard.tasks.translate import Translate

TASKS: dict[TaskName, type[Task]] = {
    kind.name: kind for kind in (Translate, Tag, Classify, Point, Language)
}
