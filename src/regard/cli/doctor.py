"""`regard doctor` and `regard bench`: whether this machine and installation are all right, and how fast."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import SAVED, command
from regard.cli.options import Device, JsonObject
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.measure.figures import Table
    from regard.training.machine import Machine
    from regard.training.trials import Finding


@command
def doctor(
    place: Device,
    run: Annotated[
        Path | None,
        Argument(
            metavar="[RUN]",
            help="A run folder, or a model that comes with regard, to check as well.",
        ),
    ] = None,
    as_json: JsonObject = False,
) -> int:
    """Check this machine, and a run, for what could go wrong.

    Try what regard promises; each trial has a control that must fail. Do answers depend on what else is in a
    batch? Do gradients flow? Does the same seed give the same bits? With a run: are its files whole, its
    curves sane, and does it give more than one answer? Exit code 1 when something is wrong.
    """
    output.speak_json(as_json)
    with _found(run) as folder:  # what is not there is said before anything is tried
        from regard.training.health import diagnose

        diagnosis = diagnose(folder, place.device, None if as_json else _tell)
    if as_json:
        output.answer(diagnosis.as_dict())
    else:
        wrong = sum(finding.state == "wrong" for finding in diagnosis.findings)
        print("\nall is well" if not wrong else f"\n{wrong} of the above must be put right")
    return 0 if diagnosis.is_well else 1


def _found(run: Path | None) -> AbstractContextManager[Path | None]:
    """The folder of a run, of an archive of one, or of a model in the box."""
    from regard.run.find import folder_of

    return nullcontext() if run is None else folder_of(run)


def _tell(known: Machine | Finding) -> None:
    from regard.show.report import finding_line, machine_grid
    from regard.training.machine import Machine

    output.show(machine_grid(known) if isinstance(known, Machine) else finding_line(known))


# `regard bench`: how fast this machine is with regard, beside torch and beside its own limit.


@command
def bench(
    place: Device,
    quick: Annotated[
        bool, Option("--quick", help="Measure for half a minute instead of two: less exact.")
    ] = False,
    only: Annotated[
        str | None,
        Option(
            metavar="PART",
            help="Measure one part, beside the floor: `attention`, `training`, `decoding`, `looking` or "
            "`length`, which is time and memory over growing lengths.",
        ),
    ] = None,
    svg: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            rich_help_panel=SAVED,
            help="Draw time and memory by length as two SVG files in this folder.",
        ),
    ] = None,
    as_json: JsonObject = False,
) -> int:
    """Measure how fast attention, training and decoding are on this machine, and what length costs.

    Each table compares in one run, in turns: with torch's own layers, with Hugging Face where that is
    installed, and with the rate at which this machine multiplies matrices. Tables are Markdown, to be shared.

    - `regard bench --only length --svg pictures` draws time and memory over growing lengths
    """
    output.speak_json(as_json)
    from regard.cli.output import bar
    from regard.measure.suite import PARTS, measure_all, parts

    chosen = PARTS if only is None else parts(only)
    if svg is not None and "length" not in chosen:
        raise UsageError("only the part `length` has pictures", "--svg", "--only length")
    with bar("measuring", lambda: len(chosen)) as shown:

        def tell(table: Table) -> None:
            with shown.aside():
                print(table)

        report = measure_all(
            place.device,
            quick=quick,
            only=only,
            tell=None if as_json else tell,
            working=lambda _name, done: shown.at(done),
        )
    if svg is not None:
        _draw(report.tables, svg)
    if as_json:
        output.answer(report.as_dict())
    return 0


def _draw(tables: Sequence[Table], folder: Path) -> None:
    """A picture of each table that has one: `time-by-length.svg`, `memory-by-length.svg`."""
    from regard.measure.length_cost import points
    from regard.run.files import write_atomic
    from regard.show.plot import curves
    from regard.show.svg_png import written

    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        if table.upward:
            path = folder / f"{table.title.partition(':')[0].lower().replace(' ', '-')}.svg"
            drawn = curves(points(table), table.title, "length", table.upward)
            write_atomic(path, written(drawn).encode())
            output.say(f"wrote {path}")
