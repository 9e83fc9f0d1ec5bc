"""A worked example is values all the way: what was given, the steps in order, the result, and the slips.

Everything here is plain numbers and words, so that a terminal, a page or a browser can draw it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Literal, final

import torch
from jaxtyping import Float
from torch import Tensor

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
        values = {step.name: step.value for step in (*self.steps, self.result)}
        if name not in values:
            raise UsageError(f"no step '{name}'", where="Worked", remedy=nearest(name, values))
        return values[name]

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
    picture: Literal["table", "links"] = "table"  # how its result is drawn

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


def tuples(value: Any) -> Any:
    """A value that came as JSON, as a lesson takes it: lists are tuples."""
    if isinstance(value, list):
        return tuple(tuples(one) for one in value)
    if isinstance(value, dict):
        return {key: tuples(one) for key, one in value.items()}
    return value


# A reader's numbers become tensors, in double precision, and tensors become plain numbers again.

Number = float | int
Numbers = Sequence[Number]
Table = Sequence[Numbers]


def vector(name: str, numbers: Numbers, width: int | None = None) -> Float[Tensor, " width"]:
    """A row of numbers, of this width where one is asked for."""
    tensor = _tensor(name, numbers)
    if tensor.dim() != 1 or not len(tensor):
        raise _misfit(name, tensor, "a row of numbers")
    if width is not None and len(tensor) != width:
        raise _misfit(name, tensor, f"{width} numbers")
    return tensor


def matrix(
    name: str, rows: Table, height: int | None = None, width: int | None = None
) -> Float[Tensor, "height width"]:
    """Rows of numbers, all of one width; of this height and width where they are asked for."""
    tensor = _tensor(name, rows)
    if tensor.dim() != 2 or not tensor.numel():
        raise _misfit(name, tensor, "rows of numbers")
    if height not in (None, tensor.shape[0]) or width not in (None, tensor.shape[1]):
        wanted = f"{height or 'any number of'} rows of {width or tensor.shape[1]} numbers"
        raise _misfit(name, tensor, wanted)
    return tensor


def plain(tensor: Tensor) -> Value:
    """A tensor of at most two axes as a number, a row or a table."""
    return _tuples(tensor.detach().tolist())


def positive(**numbers: Number) -> None:
    """Refuse sizes and counts that are not above 0, by the name they were given under."""
    for name, number in numbers.items():
        if not number > 0:
            raise UsageError(
                f"{name} must be above 0; it is {number}",
                where=name,
                remedy=f"give {name} = 1 or more",
            )


def numbered(word: str, count: int, first: int = 1) -> tuple[str, ...]:
    """h_1, h_2, h_3 from `h_`; key 1, key 2 from `key `."""
    return tuple(f"{word}{n}" for n in range(first, first + count))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw the same numbers each time, and leave everyone else's luck as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def _tensor(name: str, numbers: Any) -> Tensor:
    try:
        tensor = torch.tensor(numbers, dtype=torch.float64)
    except (TypeError, ValueError):
        raise UsageError(
            f"{name} is not a row of numbers, nor rows of equal length",
            where=name,
            remedy="write [1, 0.5], or [[1, 0], [0, 1]] for a table",
        ) from None
    if not tensor.isfinite().all():
        raise UsageError(
            f"{name} holds a number that is not finite", where=name, remedy="give finite numbers"
        )
    return tensor


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value


def _misfit(name: str, tensor: Tensor, wanted: str) -> UsageError:
    shape = " x ".join(map(str, tensor.shape)) or "one number"
    return UsageError(
        f"{name} must be {wanted}; it is {shape}", where=name, remedy=f"give {wanted}"
    )
