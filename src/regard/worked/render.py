"""A worked example as plain text for a terminal: aligned numbers, formulas, and slips flagged by (!)."""

from __future__ import annotations

import math
import textwrap

from regard.errors import UsageError, kind_of
from regard.worked.worked_example import Example, Row, Scalar, Slip, Step, Value, Worked

LINE = 88
WIDEST = 12  # a row of more numbers than this is shown by its two ends
DECIMALS = 5
DIGITS = 8  # a large number shows fewer decimals


def render(example: Example | Worked) -> str:
    """The whole example, to be read from top to bottom."""
    if not isinstance(example, Example | Worked):
        raise UsageError(
            f"a worked example is rendered, and this is {kind_of(example)}",
            where="example",
            remedy='regard.worked.EXAMPLES["six-steps"] is one; list(regard.worked.EXAMPLES) names all',
        )
    worked = example.work() if isinstance(example, Example) else example
    lines = []
    if isinstance(example, Example):
        lines += [f"{example.title}  [{', '.join(example.lectures)}]", ""]
    lines += [f"    {part}" for part in worked.formula.split("\n")]
    lines += ["", "Given"]
    for step in worked.given:
        lines += ["", f"  {_named(step)}", *_body(step)]
    slipped = {slip.step for slip in worked.slips}
    lines += ["", "Steps"]
    for number, step in enumerate(worked.steps, 1):
        lines += ["", f"  {number}. {_flag(step, slipped)}{_named(step)}", *_body(step)]
    result = worked.result
    lines += ["", f"Result: {_flag(result, slipped)}{_named(result)}", *_body(result)]
    for slip in worked.slips:
        lines += ["", *_slip(slip)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _named(step: Step) -> str:
    return f"{step.name}: {step.formula}" if step.formula else step.name


def _flag(step: Step, slipped: set[str]) -> str:
    return "(!) " if step.name in slipped else ""


def _body(step: Step) -> list[str]:
    lines = [f"       {line}" for line in table(step.value, step.rows, step.columns)]
    if step.note:
        lines += textwrap.wrap(step.note, LINE, initial_indent=" " * 5, subsequent_indent=" " * 5)
    return lines


def _slip(slip: Slip) -> list[str]:
    lines = [f"(!) Slip in {slip.lecture}, at '{slip.step}'"]
    for label, value in (("printed", slip.printed), ("right", slip.right)):
        shown = textwrap.wrap(value, LINE - 14) if isinstance(value, str) else table(value)
        lines += [f"    {'' if n else label:<9} {line}" for n, line in enumerate(shown)]
    return lines + textwrap.wrap(slip.why, LINE, initial_indent="    ", subsequent_indent="    ")


def table(value: Value, rows: tuple[str, ...] = (), columns: tuple[str, ...] = ()) -> list[str]:
    """The lines of a number, a row or a table, aligned.

    Numbers that stand together have as many decimals as the one among them that needs most.
    """
    grid = _grid(value)
    if all(isinstance(cell, float) for row in grid for cell in row):
        decimals = max(_decimals(cell) for row in grid for cell in row)
        body = [[_cell(cell, decimals) for cell in row] for row in grid]
    else:
        by_column = [_cells(column) for column in zip(*grid, strict=True)]
        body = [list(row) for row in zip(*by_column, strict=True)]
    count = len(grid[0])
    body = ([list(columns)] if columns else []) + body
    labels = [""] * (len(body) - len(rows)) + list(rows)
    lines = _aligned([_ends(row) for row in body], labels)
    if count > WIDEST:
        lines[0] += f"  ({count} numbers)"
    return lines


def _grid(value: Value) -> list[Row]:
    if not isinstance(value, tuple):
        return [(value,)]
    table = [row for row in value if isinstance(row, tuple)]
    return table or [tuple(one for one in value if not isinstance(one, tuple))]


def _ends(row: list[str]) -> list[str]:
    return row if len(row) <= WIDEST else [*row[:4], "..", *row[-2:]]


def _cells(column: Row) -> list[str]:
    decimals = max(map(_decimals, column))
    return [_cell(one, decimals) for one in column]


def _cell(value: Scalar, decimals: int) -> str:
    match value:
        case bool():
            return "■" if value else "·"
        case int():
            return f"{value:,}"
        case float() if _almost_whole(value):
            return f"{value:.{DECIMALS + 2}f}"
        case float() if _is_tiny(value) or not math.isfinite(value):
            return f"{value:.4g}"
        case float():
            return f"{value + 0.0:.{min(decimals, _room(value))}f}"
        case _:
            return value


def _decimals(value: Scalar) -> int:
    if not isinstance(value, float) or not math.isfinite(value) or _is_tiny(value):
        return 0
    return len(f"{value:.{_room(value)}f}".partition(".")[2].rstrip("0"))


def _room(value: float) -> int:
    """How many decimals a number of this size may show."""
    return min(DECIMALS, max(DIGITS - len(f"{abs(value):.0f}"), 0))


def _is_tiny(value: float) -> bool:
    """Too small for the decimals shown."""
    return 0 < abs(value) < 10.0 ** (1 - DECIMALS)


def _almost_whole(value: float) -> bool:
    """So near a whole number that the decimals shown would hide the difference, as 0.9999999."""
    return math.isfinite(value) and round(value) != 0 and 1e-8 < abs(value - round(value)) < 5e-6


def _aligned(grid: list[list[str]], labels: list[str]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    margin = max(map(len, labels))
    return [
        f"{label:<{margin}}{'   ' if margin else ''}"
        + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row, label in zip(grid, labels, strict=True)
    ]
