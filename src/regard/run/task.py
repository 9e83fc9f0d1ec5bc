"""The task of a run on disk: `tokenizer.json`, what turns text into ids and back."""

from __future__ import annotations

import json
from pathlib import Path

from regard.errors import ModelFileError
from regard.run import files
from regard.run.find import read_bounded
from regard.strict_json import loads
from regard.tasks import TASKS, Task

LONGEST = 1 << 28  # bytes


def read_task(path: Path, name: str) -> Task:
    """The task and its vocabularies, from tokenizer.json."""
    content = read_bounded(path, "tokenizer", LONGEST)
    document = loads(content, max_bytes=LONGEST, where=str(path))
    if not isinstance(document, dict) or document.get("format") != "regard-task":
        raise ModelFileError("this is no tokenizer of ours", where=str(path))
    parts = document.get("parts")
    if document.get("task") != name or not isinstance(parts, dict):
        raise ModelFileError(
            f"the tokenizer belongs to task {document.get('task')!r}, not {name!r}", where=str(path)
        )
    if not all(isinstance(part, str) for part in parts.values()):
        raise ModelFileError("each part of a tokenizer is a document", where=str(path))
    try:
        return TASKS[name].from_dict(parts)  # type: ignore[index]
    except KeyError as fault:
        raise ModelFileError(f"the tokenizer lacks its part {fault}", where=str(path)) from None


def write_task(path: Path, task: Task, name: str) -> None:
    """What `read_task` reads."""
    document = {"format": "regard-task", "task": name, "parts": task.to_dict()}
    files.write_atomic(path, json.dumps(document, ensure_ascii=False).encode())
