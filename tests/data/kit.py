"""Files written and read back, with what every reading promises."""

from __future__ import annotations

from pathlib import Path

from regard.data.source import understand
from regard.data.tally import Tally
from regard.tasks.names import example_of


def written(name: str, content: str | bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(*paths: Path, task=None, **policy):
    """The description, the examples and the tally."""
    source = understand(paths, example_of(task), **policy)
    tally = Tally()
    examples = list(source.examples(tally))
    assert list(source.examples()) == examples, "a source can be read again"
    assert source.count() == len(examples) == tally.kept
    assert all(isinstance(example, source.kind) for example in examples)
    return source.description, examples, tally
