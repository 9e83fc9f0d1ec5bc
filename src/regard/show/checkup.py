"""What `regard doctor` finds: the machine as a grid, each finding as a line with its mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.show.label import one_line

if TYPE_CHECKING:
    from regard.training.finding import Finding
    from regard.training.machine import Machine

COLOURS = {"right": "green", "wrong": "bold red", "note": "yellow"}


def machine_grid(machine: Machine) -> RenderableType:
    """Everything known about the machine."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, value in machine.facts():
        table.add_row(Text(name, style="dim"), Text(value))
    return Group(table, Text())


def finding_line(finding: Finding) -> RenderableType:
    """`✓ determinism: five steps taken twice end in the same bits`, and below it what to do."""
    colour = COLOURS[finding.state]
    told = Text.assemble(
        (finding.mark, colour), " ", (finding.name, "bold"), ": ", one_line(finding.told)
    )
    if not finding.remedy:
        return told
    return Group(told, Text(f"    try: {one_line(finding.remedy)}", style=colour))
