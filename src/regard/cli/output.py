"""How commands speak: to people with colour, to programs as JSON, and about errors in three lines."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
import traceback
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, final

from regard.errors import RegardError

if TYPE_CHECKING:
    from rich import progress
    from rich.console import RenderableType


_TURNS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
_ARGUMENT = re.compile(r'(?<![\w.])([a-z_0-9]+)=(?:"([^"]*)"|True|None)')
PAGE = 160  # columns where no terminal says how many there are
WIDEST_PAGE = 100  # columns of help

# Set once by the command that runs: whether a program is listening, and whether faults show where they arose.
wants_json = False
debug = False


def speak_json(value: bool) -> None:
    """From now on, say everything as JSON."""
    global wants_json  # noqa: PLW0603
    wants_json = value


def say(message: str = "") -> None:
    """One line for a person, on the error stream, so that standard output stays clean for answers."""
    if not wants_json:
        print(harmless(message), file=sys.stderr, flush=True)


def answer(value: Any) -> None:
    """One JSON object, on standard output."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False), flush=True)


def show(picture: RenderableType) -> None:
    """A table or a map for a person, on standard output; in a file it has all the room it needs."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=PAGE)
    console.print(picture)


def show_page(page: RenderableType) -> None:
    """A page of help, in lines that are not too long to read."""
    from rich.console import Console

    console = Console(highlight=False)
    with console.capture() as shown:
        console.print(page, width=min(console.width, WIDEST_PAGE))
    print("\n".join(line.rstrip() for line in shown.get().split("\n")).rstrip("\n"))


def advise(commands: Mapping[str, str]) -> None:
    """What to type next, and what for; as comments, so that all of it can be pasted."""
    say("\nWhat to type next:\n")
    if first := activation():
        say(f"  # once in each terminal, so that `regard` is a command\n  {first}")
    for what_for, command in commands.items():
        say(f"  # {what_for}\n  {command}")


def activation() -> str | None:
    """What makes `regard` a command of this terminal, where it is not one yet."""
    script = Path(sys.prefix, "bin", "activate")
    if shutil.which("regard") or not script.is_file():
        return None
    here = Path.cwd()
    return f"source {quote(str(script.relative_to(here) if here in script.parents else script))}"


def explain(fault: RegardError, cause: BaseException | None = None) -> int:
    """Tell an expected error, and give the exit code."""
    if debug:
        traceback.print_exception(cause or fault)
    where, remedy = as_typed(fault.where), as_typed(fault.remedy)
    if wants_json:
        with suppress(OSError):  # where nothing can be written to any more, a person is told below
            answer({**fault.as_dict(), "where": where, "remedy": remedy})
            return fault.exit_code
    print(harmless(f"error: {fault.what}"), file=sys.stderr)
    if where:
        print(harmless(f"  where: {where}"), file=sys.stderr)
    if remedy:
        print(harmless(f"  try:   {remedy}"), file=sys.stderr)
    return fault.exit_code


def as_typed(text: str) -> str:
    """The library's arguments as options: `to="fr"` is `--to fr`, and `truncate=True` is `--truncate`."""

    def option(found: re.Match[str]) -> str:
        return f"--{found[1].replace('_', '-')} {found[2] or ''}".rstrip()

    return _ARGUMENT.sub(option, text)


def harmless(text: str) -> str:
    """Text that steers no terminal: a name may hold escape sequences, or run backwards."""
    return "".join(
        character
        if character in "\n\t" or not _steers(character)
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def _steers(character: str) -> bool:
    turns = unicodedata.bidirectional(character) in _TURNS
    return turns or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def report_bug(fault: BaseException) -> int:
    """Something we did not expect: say so, and what to send us."""
    what = f"this is a fault of regard: {type(fault).__name__}: {fault}"
    return explain(
        RegardError(
            what,
            remedy="run it again with `regard --debug ...` and report what it prints",
            where="regard",
        ),
        fault,
    )


# A progress bar on the error stream, where a person watches; anywhere else, nothing.


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


def _is_piped() -> bool:
    """Whether another program reads our answers."""
    with suppress(OSError, ValueError):  # no file at all
        return stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    return False


@contextmanager
def bar(label: str, total: Callable[[], int] | None, done: int = 0) -> Iterator[Bar]:
    """While this lasts, a bar. `total` is asked only if somebody watches; None says that no end is known.

    What reads a pipe (`| head`, `| less`) writes into the same terminal, as a rule: a bar is in its way.
    """
    if total is None or not sys.stderr.isatty() or _is_piped():
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
