"""One tree of errors. Each says what went wrong, where, and what to do; each knows its exit code."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from numbers import Integral, Real
from pathlib import Path
from typing import ClassVar


class RegardError(Exception):
    """The root of everything `regard` raises on purpose.

    `what` is one sentence, `where` a file and line, a setting or an argument, `remedy` the next step. All
    three are always given: who reads an error wants to know what to do now.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, where: str, remedy: str) -> None:
        self.what, self.where, self.remedy = what, where, remedy
        super().__init__("\n".join(line for line in (what, where, remedy) if line))

    def __reduce__(self) -> tuple[type[RegardError], tuple[str, str, str]]:
        """So that an error survives the way from one process to another."""
        return type(self), (self.what, self.where, self.remedy)

    def as_dict(self) -> dict[str, object]:
        """The same three lines as an object, for `--json`."""
        return {
            "error": type(self).__name__,
            "what": self.what,
            "where": self.where,
            "remedy": self.remedy,
            "exit_code": self.exit_code,
        }


class UsageError(RegardError, ValueError):
    """A wrong argument, option or setting."""

    exit_code = 2


class MissingFileError(UsageError, FileNotFoundError):
    """A file, folder, run or model was named, and there is none of that name."""


class DataError(RegardError, ValueError):
    """The user's data cannot be used as it is."""

    exit_code = 3


class ModelFileError(RegardError, ValueError):
    """A model folder or file is damaged, foreign or too new."""

    exit_code = 4


class DiskError(RegardError, OSError):
    """The disk is full, or does not let us write or read."""

    exit_code = 5


class MemoryLimitError(RegardError, MemoryError):
    """One sentence or one model is too big for this machine."""

    exit_code = 6


class DivergedError(RegardError, ArithmeticError):
    """Training ran into numbers that are not finite."""

    exit_code = 7


class ResumeError(RegardError, RuntimeError):
    """The run on disk does not match what was asked."""

    exit_code = 8


class PortError(RegardError, OSError):
    """The network or the port is not available."""

    exit_code = 9


def is_integer(value: object, least: int = 0) -> bool:
    """Whether this is an integer, of Python's or NumPy's, of at least so much."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def require_integers(where: str, *, least: int = 1, **numbers: object) -> None:
    """Refuse what is no integer, or too small a one: `require_integers("Heads", width=width)`."""
    for name, value in numbers.items():
        if not is_integer(value, least):
            shown = repr(value) if isinstance(value, (int, float, str)) else kind_of(value)
            raise UsageError(
                f"{name} cannot be {shown[:60]}",
                where=f"{where}.{name}",
                remedy=f"give an integer of {least} or more",
            )


def require_number(where: str, **numbers: object) -> None:
    """Refuse what is no number above 0."""
    for name, value in numbers.items():
        if (
            not isinstance(value, Real)
            or isinstance(value, bool)
            or not 0 < float(value) < math.inf
        ):
            shown = repr(value) if isinstance(value, (int, float, str)) else kind_of(value)
            raise UsageError(
                f"{name} cannot be {shown[:60]}",
                where=f"{where}.{name}",
                remedy="give a number above 0",
            )


def kind_of(value: object) -> str:
    """What a value is, for somebody who did not mean to give it: `None`, `an int`, `a list`."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def missing(path: str | Path, kind: str = "file") -> MissingFileError:
    """There is no such file; the one beside it that was perhaps meant, or how to see what is there."""
    place = Path(path)
    parent = place.parent
    try:
        beside = [other.name for other in parent.iterdir()]
    except OSError:
        folder = next((above for above in parent.parents if above.is_dir()), Path())
        remedy = f"there is no folder {parent} either: ls {folder} shows what is there"
        return MissingFileError(f"there is no such {kind}", str(path), remedy)
    close = difflib.get_close_matches(place.name, beside, n=1)
    remedy = f"did you mean {parent / close[0]}?" if close else f"ls {parent} shows what is there"
    return MissingFileError(f"there is no such {kind}", str(path), remedy)


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'width'?`, or those that begin so, or the whole list when nothing is near."""
    choices = sorted(known)
    begun = [choice for choice in choices if word and choice.startswith(word)]
    if len(begun) > 1:
        return f"choose one of: {', '.join(begun)}"
    close = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else f"choose one of: {', '.join(choices)}"
