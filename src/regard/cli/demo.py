"""`regard demo`: watch a small attention model learn, in a minute, with nothing but this package."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path
from shlex import quote
from typing import Annotated

from typer import Option

from regard.cli import output
from regard.cli.command import command
from regard.cli.options import Changes, Device, JsonLines

EXAMPLE = "the hungry fox did not find the golden egg"


@command
def demo(
    place: Device,
    out: Annotated[
        Path, Option("--out", "-o", metavar="FOLDER", help="The folder that the run is kept in.")
    ] = Path("runs/demo"),
    toy: Annotated[
        str,
        Option(metavar="NAME", help="The toy problem to learn; `regard data --toys` lists all."),
    ] = "phrases",
    again: Annotated[
        bool,
        Option("--again", help="Remove the run in the folder and train again from the beginning."),
    ] = False,
    changes: Changes = None,
    as_json: JsonLines = False,
) -> int:
    """Watch a small model learn French: its attention sharpens.

    A GRU with additive attention learns from sentences of a small grammar, in about a minute. The map shows,
    for one sentence it never trains on, which English word it looks at while it writes each French one.
    """
    output.speak_json(as_json)
    from regard.run.resolve import resolve

    settings = resolve(name="demo", toy=toy, changes=changes or [])
    from regard.show.progress import JsonProgress, TrainingProgress
    from regard.training import train

    if again and (out / "config.toml").is_file():
        shutil.rmtree(out)
    with (
        nullcontext(JsonProgress()) if as_json else TrainingProgress(watch_sample=True) as listener
    ):
        outcome = train(out, settings, listener, place.device)
    if outcome.signal is not None:
        output.say(f"Stopped at step {outcome.step}; `regard demo` continues from there.")
        return 128 + outcome.signal
    question = f' "{EXAMPLE}"' if toy == "phrases" else ""
    output.advise(
        {
            "where it looks while it answers": f"regard look {quote(str(out))}{question}",
            "only the answer": f"regard predict {quote(str(out))}{question}",
            "another score function": "regard demo --again --out runs/dot -s model.reader.score=dot",
            "three of them in one table": "regard compare --toy reverse --preset bahdanau2015 \\\n"
            "      --vary model.reader.score=dot,additive,location",
            "your own two files": "regard train my.en my.de",
        }
    )
    return 0
