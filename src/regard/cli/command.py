"""What a command is made of: options in typed groups, a parser that lets no slip pass, and help to be read.

A command is a function whose arguments are groups, dataclasses of options that check themselves:

    @command
    def translate(asked: Asked, search: Search) -> None: ...
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from inspect import Parameter, Signature, signature
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, cast, final, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from regard.cli import output
from regard.errors import UsageError
from regard.run.system import refuse_unwritable
from regard.tasks.names import COMMANDS

F = TypeVar("F", bound=Callable[..., Any])

# What the help lists, in the order in which somebody new needs it.
PANELS = {
    "See it": ("demo", "lesson", "studio", "models"),
    "Ask": (*COMMANDS.values(), "predict", "align", "look"),
    "Train": ("data", "train", "config", "compare", "prune", "export"),
    "Judge": ("evaluate", "extrapolate", "heads", "senses", "doctor", "bench"),
}
SAVED = "Files to write"  # the heading of such options: whether they can be written is tried first
FILES, NAMES = "FILE...", "NAME..."  # written behind an option that takes several of them


@final
class Command(TyperCommand):
    """A command that refuses a value behind a flag, and takes several files behind one option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; see `spelled`. What is to be written is tried before anything is loaded."""
        rest = super().parse_args(ctx, spelled(self, args))
        for option in self.params:
            path = ctx.params.get(option.name)
            is_written = (
                getattr(option, "rich_help_panel", None) == SAVED or "--output" in option.opts
            )
            if is_written and isinstance(path, Path):
                refuse_unwritable(path, is_folder=option.metavar == "FOLDER")
        return rest

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Print the page of this command."""
        from regard.cli.help import command_page

        output.show_page(command_page(self, ctx))


@final
class Group(TyperGroup):
    """All commands, by their panels."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the panels."""
        known = super().list_commands(ctx)
        return [name for name in chain.from_iterable(PANELS.values()) if name in known] or known

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Print the page that lists the commands."""
        from regard.cli.help import group_page

        output.show_page(group_page(self, ctx))


app = typer.Typer(
    cls=Group,
    help="Train attention models on your own text, and see where they look.",
    epilog="Begin with `regard demo`. Every command explains itself: `regard train --help`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(function: F, *, parent: typer.Typer = app) -> F:
    """Make a function a command: its arguments are options, or groups of them."""
    parent.command(name_of(function), cls=Command)(flat(function))
    return function


def name_of(function: Callable[..., Any]) -> str:
    """What is typed for a command; a function whose name is a word of Python ends with `_`."""
    return function.__name__.rstrip("_")


def flat(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function with the fields of its groups as its own arguments."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: hints[name] for name in signature(function).parameters}

    def called(**given: Any) -> Any:
        values = {name: _value(name, kind, given) for name, kind in groups.items()}
        return function(**values)

    parameters = chain.from_iterable(
        _fields(cast("type", kind)) if is_dataclass(kind) else [_own(function, name, kind)]
        for name, kind in groups.items()
    )
    called.__name__, called.__doc__ = function.__name__, function.__doc__
    called.__signature__ = Signature(list(parameters))  # type: ignore[attr-defined]
    return called


def _value(name: str, kind: Any, given: Mapping[str, Any]) -> Any:
    """What a function gets for one of its arguments: a group, made of its options, or the option itself."""
    if not is_dataclass(kind):
        return given[name]
    make: Any = kind
    return make(**{own.name: given[own.name] for own in fields(kind)})


@cache  # a group belongs to many commands, and to read its hints takes longer than all else here
def _fields(group: type[Any]) -> tuple[Parameter, ...]:
    hints = get_type_hints(group, include_extras=True)
    return tuple(
        Parameter(
            own.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if own.default is MISSING else own.default,
            annotation=hints[own.name],
        )
        for own in fields(group)
    )


def _own(function: Callable[..., Any], name: str, hint: Any) -> Parameter:
    default = signature(function).parameters[name].default
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def spelled(made: TyperCommand, words: Sequence[str]) -> list[str]:
    """The command line with each option before each of its files, as the parser wants it.

    `--valid v.en v.de` gives the option two files. A flag takes no value: behind `--json`, the word `true`
    would be a text to answer.
    """
    options = {name: one for one in made.params for name in (*one.opts, *one.secondary_opts)}
    rest, typed = deque(words), list[str]()
    while rest:
        word = rest.popleft()
        typed.append(word)
        option = options.get(word) if word.startswith("-") else None
        if word == "--":
            break
        if option is None:
            continue
        if getattr(option, "is_flag", False):
            value = rest[0] if rest else ""
            if value.lower() in ("true", "false"):
                raise UsageError(
                    f"{word} takes no value, and '{value}' stands behind it",
                    where=word,
                    remedy=f"leave '{value}' out; if it is a text, put it behind --: -- {value}",
                )
        elif rest:
            typed.append(rest.popleft())
            while option.metavar in (FILES, NAMES) and rest and not rest[0].startswith("-"):
                typed += [word, rest.popleft()]
    return [*typed, *rest]
