"""`regard demo`: watch a small attention model learn, in a minute, with nothing but this package."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from regard.cli import output
from regard.cli.main import app

EXAMPLE = "the hungry fox did not find the golden egg"


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="The run folder.")] = Path("runs/demo"),
    toy: Annotated[
        str, typer.Option(help="What to learn; `regard data --toys` lists all.")
    ] = "phrases",
    again: Annotated[bool, typer.Option("--again", help="Learn anew from the beginning.")] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="Change one setting: `model.reader.score=dot`."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> int:
    """Watch a small model learn French: its attention sharpens.

    A GRU with additive attention learns from sentences of a small grammar, in about a minute. The map shows,
    for one sentence it never trains on, which English word it looks at while it writes each French one.
    """
    output.speak_json(as_json)
    from regard.run.resolve import resolve
    from regard.show.progress import JsonProgress, TrainingProgress
    from regard.training import train

    if again and (out / "config.toml").is_file():
        shutil.rmtree(out)
    settings = resolve(name="demo", toy=toy, changes=changes or [])
    with (
        nullcontext(JsonProgress()) if as_json else TrainingProgress(watch_sample=True) as listener
    ):
        outcome = train(out, settings, listener, device)
    if outcome.signal is not None:
        output.say(f"Stopped at step {outcome.step}; `regard demo` goes on from there.")
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
