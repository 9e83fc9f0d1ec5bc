"""A progress bar on the error stream, where a person watches; anywhere else, nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from rich import progress


@final
@dataclass(frozen=True)
class Bar:
    """One task, of so many parts; where nobody watches, it has no picture."""

    shown: progress.Progress | None
    task: progress.TaskID | None

    def advance(self, count: int) -> None:
        """So many more are done."""
        if self.shown is not None and self.task is not None:
            self.shown.advance(self.task, count)

    def at(self, done: int) -> None:
        """So many are done by now."""
        if self.shown is not None and self.task is not None:
            self.shown.update(self.task, completed=done)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Out of the way while answers are written, if it stands in the terminal they are written to."""
        if self.shown is None or not sys.stdout.isatty():
            yield
            return
        self.shown.stop()
        try:
            yield
        finally:
            self.shown.start()


@contextmanager
def bar(label: str, total: Callable[[], int] | None, done: int = 0) -> Iterator[Bar]:
    """While this lasts, a bar. `total` is asked only if somebody watches; None says that no end is known."""
    if total is None or not sys.stderr.isatty():
        yield Bar(None, None)
        return
    from rich import progress
    from rich.console import Console

    shown = progress.Progress(
        progress.TextColumn(label),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,  # answers are for anyone who reads standard output, and that may be a file
    )
    with shown:
        yield Bar(shown, shown.add_task("", total=total(), completed=done))
