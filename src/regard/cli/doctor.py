"""`regard doctor`: is this machine, this installation, this run all right?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli import output
from regard.cli.main import app

if TYPE_CHECKING:
    from regard.training.finding import Finding
    from regard.training.machine import Machine


@app.command()
def doctor(
    run: Annotated[Path | None, typer.Argument(help="Also look into this run folder.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON object.")] = False,
) -> int:
    """Check this machine, and a run, for what could go wrong.

    Try what regard promises; each trial has a control that must fail. Do answers depend on what else is in a
    batch? Do gradients flow? Does the same seed give the same bits? With a run: are its files whole, its
    curves sane, and does it give more than one answer? Exit code 1 when something is wrong.
    """
    output.speak_json(as_json)
    from regard.training.doctor import diagnose

    diagnosis = diagnose(run, device, None if as_json else _tell)
    if as_json:
        output.answer(diagnosis.as_dict())
    else:
        wrong = sum(finding.state == "wrong" for finding in diagnosis.findings)
        print("\nall is well" if not wrong else f"\n{wrong} of the above must be put right")
    return 0 if diagnosis.is_well else 1


def _tell(known: Machine | Finding) -> None:
    from regard.show.checkup import finding_line, machine_grid
    from regard.training.machine import Machine

    output.show(machine_grid(known) if isinstance(known, Machine) else finding_line(known))
