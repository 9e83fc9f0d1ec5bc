"""What is learned: a task says how its questions are encoded, forced, named and judged; one file a task.

Names are loaded when they are first asked for: `regard.tasks.names` alone needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.models.readers import IGNORE
    from regard.tasks.batch import Batch
    from regard.tasks.caption import Caption
    from regard.tasks.classify import Classify
    from regard.tasks.fill import Fill
    from regard.tasks.language import Language
    from regard.tasks.point import Point
    from regard.tasks.summarise import Summarise
    from regard.tasks.tag import Tag
    from regard.tasks.task import Prediction, Task
    from regard.tasks.translate import Translate
    from regard.tasks.verbs import TASKS

__all__ = [
    "IGNORE",
    "TASKS",
    "Batch",
    "Caption",
    "Classify",
    "Fill",
    "Language",
    "Point",
    "Prediction",
    "Summarise",
    "Tag",
    "Task",
    "Translate",
]

_HOME_OF = {
    "IGNORE": "models.readers",
    "TASKS": "tasks.verbs",
    "Batch": "tasks.batch",
    "Prediction": "tasks.task",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"regard.tasks has no '{name}'")
    return getattr(import_module(f"regard.{_HOME_OF.get(name, f'tasks.{name.lower()}')}"), name)
