"""A progress bar on the error stream, where a person watches; anywhere else, nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import final

from rich import progress
from rich.console import Console


@final
@dataclass(frozen=True)
class Bar:
    """One task, of so many parts."""

    shown: progress.Progress
    task: progress.TaskID

    def advance(self, count: int) -> None:
        """So many more are done."""
        self.shown.advance(self.task, count)

    def at(self, done: int) -> None:
        """So many are done by now."""
        self.shown.update(self.task, completed=done)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Out of the way while answers are written, if it stands in the terminal they are written to."""
        if not sys.stdout.isatty():
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
    watched = total is not None and sys.stderr.isatty()
    shown = progress.Progress(
        progress.TextColumn(label),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,  # answers are for whoever reads standard output, and that may be a file
        disable=not watched,
    )
    with shown:
        count = total() if total is not None and watched else None
        yield Bar(shown, shown.add_task("", total=count, completed=done))
