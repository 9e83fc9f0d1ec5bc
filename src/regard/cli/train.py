"""`regard train`: from files to a model, in one command that can be killed and typed again."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from regard.cli import output
from regard.cli.main import app

if TYPE_CHECKING:
    from regard.models import ModelSettings
    from regard.run.settings import RunSettings
    from regard.training import Outcome


@app.command()
def train(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="What to learn from: `train.en train.de`, one TSV, CSV, JSONL or CoNLL file, a folder; "
            "or the folder of an earlier run, to go on with it."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run folder.  [default: runs/NAME]")
    ] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", "-p", help="Ready-made settings; see `regard config`.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file of settings.")] = None,
    start_from: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Begin with the vocabulary and weights of an earlier run, or of a model in the box, "
            "in small steps.",
        ),
    ] = None,
    toy: Annotated[str | None, typer.Option(help="Learn a built-in toy instead of files.")] = None,
    valid: Annotated[
        list[Path] | None,
        typer.Option(help="Validation files; without them some training examples are held out."),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="translate, tag, classify, point or language.")
    ] = None,
    on_bad_utf8: Annotated[
        Literal["stop", "skip"], typer.Option(help="What to do at a line that is not UTF-8.")
    ] = "stop",
    changes: Annotated[
        list[str] | None, typer.Option("--set", "-s", help="Change one setting: `train.steps=500`.")
    ] = None,
    allow_change: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Go on although this setting changed: `train.rate`."),
    ] = None,
    fast: Annotated[
        bool,
        typer.Option(
            "--fast",
            help="For a GPU: bfloat16, and for Transformers that translate packed, compiled steps.",
        ),
    ] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> int:
    """Train a model on your own files, or go on where it stopped.

    Two files side by side make a translator, a CoNLL file a tagger, a file of labelled lines a classifier.

    - `regard train train.en train.de`
    - `regard train --toy reverse --preset bahdanau2015` needs no data at all
    - `regard train mine.tsv --start-from translator` teaches a model in the box your words
    - `regard train train.en train.de -p vaswani2017-base --fast` makes the most of a GPU
    """
    output.speak_json(as_json)
    from regard.run.device import choose_device, need_gpu
    from regard.run.resolve import place
    from regard.show.progress import JsonProgress, TrainingProgress
    from regard.training import train as run_training

    changes = [*["data.on_bad_utf8=skip"] * (on_bad_utf8 == "skip"), *(changes or [])]
    folder, settings = place(
        files or [],
        out,
        name=preset,
        config=config,
        start=start_from,
        toy=toy,
        valid=valid or [],
        task=task,
        changes=changes,
    )
    if fast:
        need_gpu(device, "fast=True")
        settings = settings.fast()
    slow = settings.can_pack and not settings.train.compile
    if slow and choose_device(device).type == "cuda" and not (folder / "config.toml").exists():
        output.say(
            "For such a model --fast makes more of this GPU: bfloat16, packed rows, recorded steps."
        )
    with nullcontext(JsonProgress()) if as_json else TrainingProgress() as listener:
        outcome = run_training(folder, settings, listener, device, allow_change or ())
    if os.environ.get("RANK", "0") == "0":  # of many processes the first one speaks
        _say_what_next(quote(str(folder)), settings, outcome)
    return 0 if outcome.signal is None else 128 + outcome.signal


def _say_what_next(folder: str, settings: RunSettings, outcome: Outcome) -> None:
    from regard.cli.predict import NAMES

    if outcome.signal is not None:
        output.say(f"The same command, or `regard train {folder}`, goes on from there.")
        return
    verb = next(name for name, (task, _) in NAMES.items() if task == settings.task)
    look = {"where it looks, for an example": f"regard look {folder}"}
    output.advise(
        {
            **(look if _has_attention(settings.model) else {}),
            "answers, line by line": f"regard {verb} {folder} < new.txt",
            "all of it in the browser": f"regard studio {folder}",
        }
    )


def _has_attention(model: ModelSettings) -> bool:
    of_encoder = model.encoder is not None and model.encoder.kind == "transformer"
    return of_encoder or getattr(model.reader, "score", "none") != "none"
