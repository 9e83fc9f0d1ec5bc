"""One tree of errors. Each says what went wrong, where, and what to do; each knows its exit code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar


class RegardError(Exception):
    """The root of everything `regard` raises on purpose.

    `what` is one sentence, `where` a file and line, a setting or an argument, `remedy` the next step.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, where: str = "", remedy: str = "") -> None:
        self.what, self.where, self.remedy = what, where, remedy
        super().__init__("\n".join(line for line in (what, where, remedy) if line))

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
    """The network or the port cannot be had."""

    exit_code = 9


def kind_of(value: object) -> str:
    """What a value is, for somebody who did not mean to give it: `None`, `an int`, `a list`."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'width'?`, or those that begin so, or the whole list when nothing is near."""
    choices = sorted(known)
    begun = [choice for choice in choices if word and choice.startswith(word)]
    if len(begun) > 1:
        return f"choose one of: {', '.join(begun)}"
    close = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else f"choose one of: {', '.join(choices)}"
