"""Findings as tables: data before training, scores after it, answers with their doubts, and errors.

Text from outside goes through `one_line` into a `Text`, so that nothing in it is taken for markup.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.data.check import Report
from regard.evaluate import Comparison, Metric
from regard.show.label import isolated, one_line, piece_names, shortened
from regard.show.thumbnail import Thumbnail

if TYPE_CHECKING:
    from regard.tasks import Prediction
    from regard.training import compare_runs as compared
    from regard.training.machine import Machine
    from regard.training.repeats import Repeats
    from regard.training.trials import Finding


BAR = 10  # cells of a probability of 1
ALTERNATIVES = 5
SHOWN = 160  # cells of one side of an example
NAME = 1  # the column of a comparison that may wrap
FINISH = {
    "length": "cut off at the greatest length",
    "numerics": "given up: the model's numbers are not finite",
}


def data_report(report: Report) -> RenderableType:
    """What was understood, three rows of it, and what to think about before training."""
    sources = _grid()
    for source in report.sources:
        sources.add_row(_faint(source.role), _text(source.description))
    parts: list[RenderableType] = [sources]
    if report.rows:
        rows = _grid()
        for number, row in enumerate(report.rows, 1):
            sides: list[RenderableType] = []
            for place, side in enumerate(row.shown()):
                sides.append(_text(shortened(one_line(side), SHOWN)))
                if place in row.pictured:
                    sides.append(Thumbnail(row.pictured[place]))
            rows.add_row(_faint(str(number)), Group(*sides))
        parts += [Text(), rows]
    if report.warnings:
        warnings = _grid()
        for warning in report.warnings:
            warnings.add_row(Text("warning", style="yellow"), _text(warning))
        parts += [Text(), warnings]
    return Group(*parts)


def metric_table(metrics: Sequence[Metric], title: str = "") -> RenderableType:
    """Scores with their intervals, and below them how each was made."""
    table = _table()
    table.add_column("")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("95% interval", no_wrap=True)
    for metric in metrics:
        ends = "" if metric.interval is None else "{:.1f} to {:.1f}".format(*metric.interval)
        value = f"{metric.value:.2f}" if math.isfinite(metric.value) else "undefined"
        table.add_row(_text(metric.name), value, ends)
    signatures = (_faint(f"{metric.name}: {metric.signature}") for metric in metrics)
    # A title of the table's own would be broken at its width, and it is a narrow one.
    heading = [Text(one_line(title), style="bold")] if title else []
    return Group(*heading, table, Text(), *signatures)


def comparison_table(table: compared.Table | Repeats) -> RenderableType:
    """A row a model, the best one bold; what the columns mean below."""
    headings, *cells = table.cells()
    shown = _table()
    for number, heading in enumerate(headings):
        whole = [*heading.split(), *(line[number] for line in cells)]
        least = max(map(cell_len, whole)) if number != NAME else None
        side: Literal["left", "right"] = "left" if number <= NAME else "right"
        shown.add_column(heading, justify=side, width=least, overflow="fold")
    for line in cells:
        shown.add_row(*map(_text, line), style="bold" if line[NAME] in table.starred else "")
    return Group(shown, Text(), *(_faint(note) for note in table.notes()))


def verdict(comparison: Comparison, names: tuple[str, str]) -> RenderableType:
    """Two systems on the same test, and whether the difference is more than luck."""
    table = _table()
    table.add_column("")
    table.add_column(comparison.system_a.name, justify="right")
    for name, metric in zip(names, (comparison.system_a, comparison.system_b), strict=True):
        table.add_row(_text(name), f"{metric.value:.2f}")
    table.add_row("difference", f"{comparison.difference:+.2f}", style="bold")
    match comparison:
        case Comparison(difference=0):
            judged = "no difference"
        case Comparison(significant=True):
            judged = "more than luck"
        case _:
            judged = "it may be luck"
    chance = f"{judged}: p = {comparison.p_value:.4f}, paired {comparison.test}"
    return Group(Text(), table, Text(chance), _faint(comparison.system_a.signature))


def answer(prediction: Prediction, alternatives: int = ALTERNATIVES) -> RenderableType:
    """An answer, how sure the model was of each symbol, and what it would have said instead."""
    parts: list[RenderableType] = [Text(isolated(one_line(prediction.text)), style="bold")]
    if prediction.finish in FINISH:
        parts.append(Text(FINISH[prediction.finish], style="yellow"))
    if prediction.log_probabilities:
        parts += [Text(), _symbols(prediction)]
    if len(prediction.alternatives) > 1:
        others = _table()
        others.add_column("score", justify="right", no_wrap=True)
        others.add_column("hypothesis")
        for text, score in prediction.alternatives[:alternatives]:
            others.add_row(f"{score:.3f}", _text(text))
        parts += [Text(), others]
    return Group(*parts)


def _symbols(prediction: Prediction) -> RenderableType:
    """One symbol a line with its probability; the last step may have been the end."""
    table = _table()
    table.add_column("symbol", justify="right", no_wrap=True)
    table.add_column("probability", justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    names = piece_names(prediction.symbols)
    for name, value in zip_longest(names, prediction.log_probabilities):
        share = math.exp(value) if value is not None else math.nan
        table.add_row(_text(name or "(end)"), f"{share:.3f}", Text(bar(share, BAR), style="cyan"))
    return table


def bar(share: float, width: int) -> str:
    """A share of 1 as a bar, exact to an eighth of a cell."""
    if not math.isfinite(share):
        return ""
    whole, eighths = divmod(round(min(max(share, 0.0), 1.0) * width * 8), 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[eighths].strip()


def _grid() -> Table:
    return Table.grid(padding=(0, 2, 0, 0))


def _table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), header_style="dim")


def _text(text: str) -> Text:
    return Text(isolated(one_line(text)))


def _faint(text: str) -> Text:
    return Text(one_line(text), style="dim")


def _lines(text: str) -> Text:
    """Several lines of our own, as settings that are wrong come together."""
    return Text("\n".join(map(one_line, text.split("\n"))))


# What `regard doctor` finds: the machine as a grid, each finding as a line with its mark.

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
    line = Text.assemble(
        (finding.mark, colour), " ", (finding.name, "bold"), ": ", one_line(finding.detail)
    )
    if not finding.remedy:
        return line
    return Group(line, Text(f"    try: {one_line(finding.remedy)}", style=colour))
