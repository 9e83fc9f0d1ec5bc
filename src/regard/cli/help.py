"""Help as a page to be read: what a command does, then each option with a sentence about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regard.cli.command import SAVED
from regard.cli.options import CHANCE, DATA, LINES, MACHINE, SEARCH, SETTINGS

_LEFT = 30  # columns that the names of options may take
_OPTIONS = "Options"
PANELS = (_OPTIONS, DATA, SETTINGS, SEARCH, CHANCE, LINES, SAVED, MACHINE)


def command_page(command: Any, context: Any) -> RenderableType:
    """Usage, what the command does, its arguments, and its options by their panels."""
    shown = [one for one in command.get_params(context) if not getattr(one, "hidden", False)]
    arguments = [one for one in shown if not _is_option(one)]
    parts = [_usage(context.command_path, [_metavar(one) for one in arguments], "[OPTIONS]")]
    parts += [*_prose(command.help or ""), *_panel("Arguments", map(_row, arguments))]
    options = [one for one in shown if _is_option(one)]
    for panel, members in groupby(sorted(options, key=_order), key=_panel_of):
        parts += _panel(panel, map(_row, members))
    return Group(*parts)


def group_page(group: Any, context: Any) -> RenderableType:
    """Usage, and the commands by their panels, each with its first sentence."""
    parts = [_usage(context.command_path, ["COMMAND"], "[OPTIONS]"), *_prose(group.help or "")]
    commands = [group.get_command(context, name) for name in group.list_commands(context)]
    for panel, members in groupby(commands, key=lambda one: one.rich_help_panel or "Commands"):
        rows = ((one.name, cleandoc(one.help).partition("\n\n")[0]) for one in members)
        parts += _panel(str(panel), rows)
    options = [one for one in group.get_params(context) if _is_option(one)]
    return Group(*parts, *_panel(_OPTIONS, map(_row, options)), *_prose(group.epilog or ""))


def _usage(path: str, arguments: Iterable[str], last: str) -> RenderableType:
    line = Text.assemble(("Usage: ", "bold"), " ".join([path, *arguments, last]))
    return Group(line, Text())


def _prose(text: str) -> Iterator[RenderableType]:
    """Paragraphs, and lists of commands with what they are for."""
    for block in cleandoc(text).split("\n\n") if text else ():
        if block.startswith("- "):
            for item in re.split(r"\n(?=- )", block):
                yield Padding(_example(" ".join(item[2:].split())), (0, 0, 0, 2))
        else:
            yield _inline(" ".join(block.split()))
        yield Text()


def _example(item: str) -> Text:
    """A command, and above it as a comment what it is for: all of it can be pasted."""
    _, line, purpose = item.split("`", 2)
    comment = Text(f"# {purpose.strip()}\n", style="dim") if purpose.strip() else Text()
    return comment.append(line, style="bold")


def _panel(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[RenderableType]:
    """Names on the left, sentences on the right."""
    listed = list(rows)
    if not listed:
        return
    width = min(_LEFT, max(len(name) for name, _ in listed))
    table = Table.grid(padding=(0, 2))
    table.add_column(width=width, overflow="fold")
    table.add_column()
    for name, sentence in listed:
        table.add_row(Text(name, style="cyan"), _inline(" ".join(sentence.split())))
    yield Text(title, style="bold")
    yield Padding(table, (0, 0, 1, 2))


def _row(one: Any) -> tuple[str, str]:
    """`-i, --input FILE`, and its help with what it is by default."""
    if not _is_option(one):
        return _metavar(one), one.help or ""
    names = ", ".join(sorted(one.opts, key=len))
    names = " / ".join([names, *one.secondary_opts])
    value = "" if one.is_flag else f" {_metavar(one)}"
    default = one.default if one.show_default and not one.is_flag else None
    text = f"{one.help or ''} (default: {default})" if default not in (None, (), []) else one.help
    return f"{names}{value}", text or ""


def _metavar(one: Any) -> str:
    """What to write in the place of a value, in capitals, or the choices there are."""
    if one.metavar is not None:
        return str(one.metavar)
    choices = getattr(getattr(one, "type_descriptor", None), "choices", None)
    choices = choices or getattr(one.type, "choices", None)
    return "|".join(map(str, choices)) if choices else str(one.name).upper()


def _is_option(one: Any) -> bool:
    return bool(one.param_type_name == "option")


def _panel_of(one: Any) -> str:
    return str(getattr(one, "rich_help_panel", None) or _OPTIONS)


def _order(one: Any) -> int:
    """Options without a panel come first, the machine last."""
    return PANELS.index(_panel_of(one))


def _inline(text: str) -> Text:
    """Text in which what stands between backticks is bold; the backticks stay, for terminals without."""
    shown = Text()
    for place, part in enumerate(text.split("`")):
        shown.append(f"`{part}`" if place % 2 else part, style="bold" if place % 2 else "")
    return shown
