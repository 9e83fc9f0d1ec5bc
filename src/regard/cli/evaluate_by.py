"""`regard evaluate --by`: one test taken apart by length, by distance, or by how far gradients reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli import output
from regard.cli.options import refuse_unused
from regard.errors import UsageError, nearest

if TYPE_CHECKING:
    from regard.answer.limits import Curve
    from regard.answer.test_set import Exam

Ask = Callable[[], list[str]]


def check(by: str | None, svg: Path | None, unused: Mapping[str, bool]) -> None:
    """There is such a curve, and it is asked for; `unused` names what it has no use for."""
    if by is None:
        if svg is not None:
            remedy = "say by what the test is taken apart: --by length"
            raise UsageError("there is no curve to draw", "--svg", remedy)
        return
    from regard.answer.limits import WAYS

    if by not in WAYS:
        raise UsageError(f"there is no curve by '{by}'", "--by", nearest(by, WAYS))
    refuse_unused(unused, f"a curve by {by} has no use for it")


def measured(by: str, path: Path, exam: Exam, ask: Ask, device: str) -> Curve:
    """One run's curve."""
    from regard.answer import limits
    from regard.run.find import folder_of
    from regard.run.folder import Run

    with folder_of(path) as folder:
        run = Run.open(folder)
        if by == "gradient":
            from regard.run.device import choose_device

            _refuse_untagged(path, exam, run)
            return limits.gradient_curve(run.task, exam, run.load_model(choose_device(device)))
    predicted = ask()
    if by == "length":
        return limits.length_curve(run.task, exam, predicted)
    return limits.distance_curve(run.task, exam, predicted)


def _refuse_untagged(path: Path, exam: Exam, run: Any) -> None:
    """A model of several languages reads a tag before each sentence; without it, gradients mean nothing."""
    from regard.cli.target import Target

    untagged = any(not one.startswith(">>") for one in exam.questions(run.task))
    if Target(path, run.settings).languages and untagged:
        remedy = "write the tag before each line of the test: `>>fr<< A sentence.`"
        raise UsageError("this model must be told the language in the text itself", "--by", remedy)


def tell(facts: dict[str, Any], found: Mapping[str, Curve], svg: Path | None) -> None:
    """The curves as a table, as JSON, and as a picture."""
    first = next(iter(found.values()))
    title = f"{first.measures[0]} by {first.across}"
    if svg is not None:
        _draw(found, title, svg)
    if output.wants_json:
        runs = {name: [row.as_dict() for row in curve.rows] for name, curve in found.items()}
        output.answer({**facts, "by": first.by, "across": first.across, "runs": runs})
        return
    output.show(table(found, f"{facts['examples']:,} {facts['test']}: {title}"))


def _draw(found: Mapping[str, Curve], title: str, svg: Path) -> None:
    from regard.run.files import write_atomic
    from regard.show.plot import curves
    from regard.show.svg_png import written

    first = next(iter(found.values()))
    upward = first.measures[0]
    lines: dict[str, Sequence[tuple[int | float, int | float]]] = {
        name: curve.points for name, curve in found.items()
    }
    if (
        first.by == "gradient"
    ):  # what fades does so by a factor a step: a straight line, if drawn so
        upward = f"log10 of the mean {upward}"
        lines = {
            name: [(x, math.log10(y)) for x, y in points if y > 0] for name, points in lines.items()
        }
    write_atomic(svg, written(curves(lines, title, first.across, upward)).encode())
    output.say(f"wrote {svg}")


def table(found: Mapping[str, Curve], title: str) -> Any:
    """A row a group. One run has all its measures, several have the first one each."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from regard.show.label import one_line

    first = next(iter(found.values()))
    measures = first.measures if len(found) == 1 else first.measures[:1]
    shown = Table(box=None, pad_edge=False)
    heads = [one_line(name) for name in found] if len(found) > 1 else list(measures)
    for column in (first.across, first.count_of, *heads):
        shown.add_column(column, justify="right")
    cells: dict[str, list[str]] = {}
    for row in first.rows:
        cells[row.name] = [row.name, f"{row.count:,}"]
    for curve in found.values():
        own = {row.name: row for row in curve.rows}
        for name, line in cells.items():
            line += [_number(own[name].values.get(one)) if name in own else "-" for one in measures]
    for line in cells.values():
        shown.add_row(*line)
    return Group(Text(one_line(title), style="bold"), shown)


def _number(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:.2f}" if value >= 1 or value == 0 else f"{value:.3g}"
