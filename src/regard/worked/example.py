"""A worked example is values all the way: what was given, the steps in order, the result, and the slips.

Everything here is plain numbers and words, so that a terminal, a page or a browser can draw it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, final

from regard.errors import UsageError, nearest

Scalar = bool | int | float | str
Row = tuple[Scalar, ...]
Value = Scalar | Row | tuple[Row, ...]


@final
@dataclass(frozen=True)
class Step:
    """One line of the working: its name, its formula, and the number, row or table that comes out."""

    name: str
    formula: str
    value: Value
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return _as_dict(self)


@final
@dataclass(frozen=True)
class Slip:
    """Where a slide errs: at which step, what it prints, what is right for the slide's numbers, and why."""

    lecture: str
    step: str
    printed: Value
    right: Value
    why: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return _as_dict(self)


@final
@dataclass(frozen=True)
class Worked:
    """An example worked out from start to end."""

    formula: str
    given: tuple[Step, ...]
    steps: tuple[Step, ...]
    result: Step
    slips: tuple[Slip, ...] = ()

    def __getitem__(self, name: str) -> Value:
        """The value of the step of this name, the result among them."""
        found = {step.name: step.value for step in (*self.steps, self.result)}
        if name not in found:
            raise UsageError(f"no step '{name}'", where="Worked", remedy=nearest(name, found))
        return found[name]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; a number that JSON cannot write, such as minus infinity, is written as a word."""
        return _as_dict(self)


@final
@dataclass(frozen=True)
class Example:
    """What can be worked out: a title, where the lectures teach it, and the function that does it."""

    title: str
    lectures: tuple[str, ...]
    work: Callable[..., Worked]

    @property
    def inputs(self) -> dict[str, Any]:
        """Each input by name, with the lecture's number for it."""
        given = inspect.signature(self.work).parameters.values()
        return {one.name: _plain(one.default) for one in given}

    def as_dict(self) -> dict[str, Any]:
        """For a list of examples: everything but the work."""
        return {
            "title": self.title,
            "lectures": list(self.lectures),
            "about": inspect.getdoc(self.work),
            "inputs": self.inputs,
        }


def _as_dict(value: Step | Slip | Worked) -> dict[str, Any]:
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _plain(value: Any) -> Any:
    match value:
        case Step() | Slip():
            return _as_dict(value)
        case Mapping():
            return {key: _plain(one) for key, one in value.items()}
        case tuple() | list():
            return [_plain(one) for one in value]
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value
