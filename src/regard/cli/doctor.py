"""`regard doctor` and `regard bench`: whether this machine and installation are all right, and how fast."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import command
from regard.cli.options import Device, JsonObject

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
    if run is not None:
        from regard.run.find import folder_of

        with folder_of(run):
            pass  # what is not there is said before anything is tried
    from regard.training.health import diagnose

    diagnosis = diagnose(run, place.device, None if as_json else _tell)
    if as_json:
        output.answer(diagnosis.as_dict())
    else:
        wrong = sum(finding.state == "wrong" for finding in diagnosis.findings)
        print("\nall is well" if not wrong else f"\n{wrong} of the above must be put right")
    return 0 if diagnosis.is_well else 1


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
    as_json: JsonObject = False,
) -> int:
    """Measure how fast attention, training and decoding are on this machine.

    Each table compares in one run, in turns: with torch's own layers, with Hugging Face where that is
    installed, and with the rate at which this machine multiplies matrices. Tables are Markdown, to be shared.
    """
    output.speak_json(as_json)
    from regard.cli.output import bar
    from regard.measure.suite import PARTS, measure_all

    with bar("measuring", lambda: len(PARTS)) as shown:

        def tell(table: Table) -> None:
            with shown.aside():
                print(table)

        report = measure_all(
            place.device,
            quick=quick,
            tell=None if as_json else tell,
            working=lambda _name, done: shown.at(done),
        )
    if as_json:
        output.answer(report.as_dict())
    return 0
