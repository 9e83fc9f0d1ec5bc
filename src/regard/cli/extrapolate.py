"""`regard extrapolate`: models that learned short rows, asked about longer and longer ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import SAVED, command
from regard.cli.options import JsonObject, Weights
from regard.cli.target import check_there
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.answer.limits import Point

LONGEST = 10_000


@command
def extrapolate(
    place: Weights,
    runs: Annotated[
        list[Path],
        Argument(
            metavar="RUN...",
            help="Run folders that learned a toy whose lengths can be chosen: `before`, `copy` or `reverse`.",
        ),
    ],
    lengths: Annotated[
        str,
        Option(
            metavar="LENGTHS",
            help="The lengths to ask for, such as `20,40,80`, or `20-200` for every tenth of the way.",
        ),
    ] = "20-200",
    examples: Annotated[
        int, Option(min=1, max=10_000, metavar="N", help="How many examples of each length to ask.")
    ] = 50,
    svg: Annotated[
        Path | None,
        Option(metavar="FILE", rich_help_panel=SAVED, help="Draw the curves as SVG."),
    ] = None,
    as_json: JsonObject = False,
) -> None:
    """Ask models about rows of many lengths, also longer than any they learned: a curve for each.

    How positions are told decides what is left (L104). Learned positions end: what a model cannot read is
    left out of its curve, with the reason.

    - `regard train --toy before -p one-trick -o runs/waves`
    - `regard extrapolate runs/waves --svg far.svg`
    """
    output.speak_json(as_json)
    wanted = read_lengths(lengths)
    names = _names(runs)
    for run in runs:
        check_there(run)
    from regard.answer.limits import by_length, toy_of
    from regard.answer.predictor import Predictor

    device, weights = place.device, place.weights
    loaded = {
        name: Predictor.load(run, device, weights=weights, note=output.say)
        for name, run in zip(names, runs, strict=True)
    }
    for predictor in loaded.values():
        toy_of(predictor)
    by_model = {}
    for name, predictor in loaded.items():
        with output.bar(f"asking {name}", lambda: len(wanted)) as shown:
            by_model[name] = by_length(predictor, wanted, examples, shown.advance)
    if svg is not None:
        _draw(by_model, svg)
    if as_json:
        curves = {name: [point.as_dict() for point in points] for name, points in by_model.items()}
        output.answer({"lengths": wanted, "examples": examples, "curves": curves})
        return
    _tell(by_model, wanted, examples)


def read_lengths(text: str) -> list[int]:
    """`20,40,80`, or `20-200`: both ends and eight or nine lengths between them, evenly."""
    first, between, last = text.partition("-")
    parts = [first, last] if between else text.split(",")
    numbers = [int(part) for part in parts if part.strip().isdecimal() and len(part) < 9]
    if len(numbers) < len(parts) or not all(1 <= one <= LONGEST for one in numbers):
        raise UsageError(
            f"'{text}' names no lengths from 1 to {LONGEST:,}",
            where="--lengths",
            remedy="write 20,40,80, or 20-200",
        )
    if between:
        low, high = numbers
        numbers = [low + round((high - low) * step / 9) for step in range(10)]
    return sorted(set(numbers))


def _names(runs: Sequence[Path]) -> list[str]:
    """The last part of each path that tells it from the others."""
    short = [run.name for run in runs]
    names = short if len(set(short)) == len(short) else [str(run) for run in runs]
    if len(set(names)) < len(names):
        raise UsageError("a run is there twice", where="RUN", remedy="name each run once")
    return names


def _draw(found: Mapping[str, Sequence[Point]], svg: Path) -> None:
    from regard.run.files import write_atomic
    from regard.show.plot import curves
    from regard.show.svg_png import written

    lines = {
        name: [(point.length, point.metric.value) for point in points if point.metric is not None]
        for name, points in found.items()
    }
    metric = next(
        point.metric.name for points in found.values() for point in points if point.metric
    )
    drawn = curves(lines, f"{metric}, by length", "symbols in a row", metric)
    write_atomic(svg, written(drawn).encode())
    output.say(f"wrote {svg}")


def _tell(found: Mapping[str, Sequence[Point]], asked: Sequence[int], examples: int) -> None:
    from rich.table import Table
    from rich.text import Text

    known = [point.metric.name for points in found.values() for point in points if point.metric]
    title = f"{known[0] if known else 'score'}, by length; {examples:,} examples each"
    output.show(
        Text(title, style="bold")
    )  # a title of the table's own would be broken at its width
    table = Table(box=None)
    for column in ("length", *found):
        table.add_column(column, justify="right")
    for number, length in enumerate(asked):
        at_length = (points[number].metric for points in found.values())
        table.add_row(
            str(length), *("–" if one is None else f"{one.value:.1f}" for one in at_length)
        )
    output.show(table)
    for name, points in found.items():
        ends = [point for point in points if point.fault]
        if ends:
            output.show(Text(f"{name} from length {ends[0].length} on: {ends[0].fault}"))
