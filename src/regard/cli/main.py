"""The command line: `regard COMMAND`. Each command is a file here, thin over the library."""

from __future__ import annotations

import errno
import gc
import os
import sys
from itertools import chain
from typing import Annotated, Any

import typer

from regard import __version__
from regard.cli import output
from regard.cli.command import PANELS, app
from regard.errors import DiskError, MemoryLimitError, RegardError, UsageError
from regard.signals import Stopped

# What the parser raises; Typer brings its own copy of click or not, depending on its version.
_WrongUsage: type[Exception] = typer.BadParameter.__mro__[1]


def _version(asked: bool) -> bool:
    if asked:
        print(f"regard {__version__}")
        raise typer.Exit
    return asked


@app.callback()
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train attention models on your own text, and see where they look."""
    output.debug = debug


def run() -> None:
    """The entry point: every way a command can end becomes an exit code."""
    # Before torch is there: threads that spin while they wait take the processor from those that work.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Modules are objects by the hundred thousand, and none of them is garbage: they are searched less often.
    gc.set_threshold(100_000, 20, 20)
    code = status(sys.argv[1:])
    gc.freeze()  # nor are they searched once more at the end, when the system takes all of them back
    sys.exit(code)


def status(arguments: list[str]) -> int:
    """Run a command; its exit code (see docs/errors.md)."""
    output.speak_json("--json" in arguments)
    try:
        result = app(arguments, prog_name="regard", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except RegardError as fault:
        return output.explain(fault)
    except _WrongUsage as fault:
        return _wrong_usage(fault, arguments)
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except Stopped as fault:
        return 128 + fault.number
    except (BrokenPipeError, SystemExit):  # the parser exits by itself when a pipe breaks
        return 141
    except Exception as fault:
        return _unforeseen(fault)


def _wrong_usage(fault: Exception, arguments: list[str]) -> int:
    """A command or option that does not exist, or a value that does not fit it."""
    context = getattr(fault, "ctx", None)
    known = [word for word in arguments[:1] if word in chain.from_iterable(PANELS.values())]
    command = context.command_path if context is not None else " ".join(["regard", *known])
    what = fault.format_message()  # type: ignore[attr-defined]
    if not what:  # nothing was asked for, and the help is on the screen already
        return UsageError.exit_code
    what = what[0].lower() + what[1:].rstrip(".")
    remedy = _setting(fault, context, arguments) or f"{command} --help"
    return output.explain(UsageError(what, where=command, remedy=remedy))


def _setting(fault: Exception, context: Any, arguments: list[str]) -> str:
    """`--epochs 3` is no option, but there is a setting of that name: `--set train.epochs=3`."""
    written = str(getattr(fault, "option_name", ""))
    option = written.lstrip("-").replace("-", "_")
    known = [
        name
        for one in getattr(getattr(context, "command", None), "params", ())
        for name in one.opts
    ]
    if not option or "--set" not in known:
        return ""
    from regard.config import places
    from regard.run.settings import RunSettings

    behind = arguments[arguments.index(written) + 1 :] if written in arguments else []
    value = behind[0] if behind and not behind[0].startswith("-") else "..."
    return " or ".join(f"--set {path}={value}" for path in places(RunSettings, option))


def _unforeseen(fault: Exception) -> int:
    """What the machine refuses is no fault of ours; everything else is."""
    if isinstance(fault, MemoryError) or type(fault).__name__ == "OutOfMemoryError":
        remedy = "take a smaller model, or lower batch.tokens"
        return output.explain(
            MemoryLimitError("memory ran out", remedy=remedy, where="memory"), fault
        )
    if isinstance(fault, OSError):
        what, where = fault.strerror or str(fault), str(fault.filename or "")
        remedy = "look at the path and its permissions: ls -l"
        if fault.errno == errno.ENOSPC:
            where, remedy = where or "standard output", "free some space, or write elsewhere"
        return output.explain(DiskError(what.lower(), where=where, remedy=remedy), fault)
    return output.report_bug(fault)


from regard.cli import (  # noqa: E402, F401  a command is added by being imported
    align,
    compare,
    data,
    doctor,
    evaluate,
    export,
    extrapolate,
    lesson,
    look,
    meaning,
    models,
    predict,
    prune,
    studio,
    study,
    train,
)

_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}
for _command in app.registered_commands:
    _command.rich_help_panel = _PANEL_OF[_command.name or _command.callback.__name__]  # type: ignore[union-attr]
for _group in app.registered_groups:
    _group.rich_help_panel = _PANEL_OF[str(_group.name)]
