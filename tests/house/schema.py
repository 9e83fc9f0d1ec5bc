"""`web/src/schema.ts`, made from the API's schema: `python -m tests.house.schema --write`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from regard.studio import schema
from tests.house.tree import ROOT

TYPES = ROOT / "web" / "src" / "schema.ts"
HEAD = """// The types of what the studio's API gives: made from src/regard/studio/schema.py, never by hand.
// python -m tests.house.schema --write
"""
ROOTS = (
    schema.About,
    schema.Axis,
    schema.TraceAbout,
    schema.Neurons,
    schema.TreeAbout,
    schema.Lesson,
    schema.HeadsStudied,
    schema.SensesStudied,
    schema.SensesShipped,
)
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", NoneType: "null"}


def types() -> str:
    """The whole file: every answer that the page reads, and what it is made of, innermost first."""
    found: dict[type[BaseModel], None] = {}
    for root in ROOTS:
        for model in _within(root):
            found.setdefault(model)
    return "\n".join([HEAD, *(_interface(model) for model in found)])


def _within(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """The models inside a model, before it."""
    for field in model.model_fields.values():
        for part in _parts(field.annotation):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from _within(part)
    yield model


def _parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)


def _interface(model: type[BaseModel]) -> str:
    lines = [
        f"/** {' '.join((model.__doc__ or '').split())} */",
        f"export interface {model.__name__} {{",
    ]
    for name, field in model.model_fields.items():
        if field.description:
            lines.append(f"  /** {field.description} */")
        optional = "" if field.is_required() else "?"
        lines.append(f"  readonly {name}{optional}: {_written(field.annotation)};")
    return "\n".join([*lines, "}", ""])


def _written(annotation: Any) -> str:
    """A type of Python in the words of TypeScript; all of it is read and never written."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if annotation in PLAIN:
        return PLAIN[annotation]
    if annotation is Any:
        return "unknown"
    if origin is Literal:
        return " | ".join(f'"{word}"' for word in inside)
    if origin in (Union, UnionType):
        return " | ".join(_written(part) for part in inside)
    if origin is list:
        part = _written(inside[0])
        return f"readonly ({part})[]" if " " in part else f"readonly {part}[]"
    if origin is tuple:
        return f"readonly [{', '.join(_written(part) for part in inside)}]"
    if origin is dict:
        return f"Readonly<Record<string, {_written(inside[1])}>>"
    return str(annotation.__name__)


if __name__ == "__main__":
    if "--write" in sys.argv:
        TYPES.write_text(types(), "utf-8")
    else:
        print(types())
