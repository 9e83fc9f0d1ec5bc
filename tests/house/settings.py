"""`docs/settings.md`, made from the settings themselves: `python -m tests.house.settings --write`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from regard.config import Settings, meaning
from regard.run.settings import RunSettings
from tests.house.tree import ROOT

PAGE = ROOT / "docs" / "settings.md"
HEAD = """# Settings

What `config.toml` of a run holds, and `--set` and `--config` change: `regard train --set train.steps=500`.
`regard config bahdanau2015` shows a preset with all of them, ready to be saved and edited. A key that does
not exist, or a value that cannot be, is an error that names the nearest right one.
"""


def groups(kind: type[Settings], path: str = "") -> Iterator[tuple[str, type[Settings]]]:
    """Every group of settings under this one, with the path it has in a file."""
    yield path, kind
    for name, field in kind.model_fields.items():
        for part in _kinds(field.annotation):
            yield from groups(part, f"{path}.{name}".removeprefix("."))


def page() -> str:
    """The whole page."""
    return "\n".join(
        [HEAD, *(line for path, kind in groups(RunSettings) for line in _table(path, kind))]
    )


def _table(path: str, kind: type[Settings]) -> Iterator[str]:
    word = _only_kind(kind)
    title = f"`[{path}]`" if path else "At the top"
    yield f"## {title}" + (f', `kind = "{word}"`' if word else "") + "\n"
    yield f"{' '.join((kind.__doc__ or '').split())}\n"
    yield "| setting | default | |\n|---|---|---|"
    for name, field in kind.model_fields.items():
        if _kinds(field.annotation) or (name == "kind" and word):
            continue
        default = field.get_default(call_default_factory=True)
        usual = "" if default is None or default == {} else f"`{_shown(default)}`"
        yield f"| `{name}` | {usual} | {meaning(kind, name)} |"
    yield ""


def _only_kind(kind: type[Settings]) -> str | None:
    """The one word that tells this group from others of its place."""
    field = kind.model_fields.get("kind")
    return field.default if field is not None and len(get_args(field.annotation)) == 1 else None


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _kinds(annotation: Any) -> list[type[Settings]]:
    """The groups that a setting may be."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return [annotation]
    if get_origin(annotation) in (Annotated, Union, UnionType):
        parts = [part for part in get_args(annotation) if part is not NoneType]
        return [kind for part in parts for kind in _kinds(part)]
    return []


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(page(), "utf-8")
