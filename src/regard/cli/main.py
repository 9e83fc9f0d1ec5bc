"""The command line: `regard COMMAND`. Each command is a file here, thin over the library."""

from __future__ import annotations

import sys
from typing import Annotated

import click
import typer

from regard import __version__
from regard.cli import output
from regard.errors import RegardError

app = typer.Typer(
    help="Train attention models on your own text, and see where they look.",
    epilog="Begin with `regard demo`. Every command explains itself: `regard train --help`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        print(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Train attention models on your own text, and see where they look."""
    output.debug = debug


def run() -> None:
    """The entry point: every way a command can end becomes an exit code."""
    sys.exit(status(sys.argv[1:]))


def status(arguments: list[str]) -> int:
    """Run a command; its exit code (see docs/errors.md)."""
    from regard.train.signals import Stopped

    output.speak_json("--json" in arguments)
    try:
        result = app(arguments, prog_name="regard", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except RegardError as fault:
        return output.explain(fault)
    except click.ClickException as fault:
        fault.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        return 130
    except Stopped as fault:
        return 128 + fault.number
    except BrokenPipeError:
        return 141
    except MemoryError as fault:
        output.report_bug(fault)
        return 6
    except Exception as fault:
        return output.report_bug(fault)


from regard.cli import config, train  # noqa: E402, F401  a command is added by being imported
