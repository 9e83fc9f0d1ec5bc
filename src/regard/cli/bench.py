"""`regard bench`: how fast this machine is with regard, beside torch and beside its own limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Option

from regard.cli import output
from regard.cli.command import command
from regard.cli.options import Device, JsonObject

if TYPE_CHECKING:
    from regard.measure.table import Table


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
    from regard.cli.bar import bar
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
