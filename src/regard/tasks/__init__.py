"""What is learned: translate, tag, classify, point, language; loss, predict, judge."""

from regard.tasks.batch import IGNORE, Batch
from regard.tasks.choose import TASKS
from regard.tasks.classify import Classify
from regard.tasks.language import Language
from regard.tasks.look import Sight, Site, look
from regard.tasks.point import Point
from regard.tasks.tag import Tag
from regard.tasks.task import Prediction, Task
from regard.tasks.translate import Translate

__all__ = [
    "IGNORE",
    "TASKS",
    "Batch",
    "Classify",
    "Language",
    "Point",
    "Prediction",
    "Sight",
    "Site",
    "Tag",
    "Task",
    "Translate",
    "look",
]
