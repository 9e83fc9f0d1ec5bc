"""`regard train`: from files to a model, in one command that can be killed and typed again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli import output
from regard.cli.main import app


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
    toy: Annotated[str | None, typer.Option(help="Learn a built-in toy instead of files.")] = None,
    valid: Annotated[
        list[Path] | None,
        typer.Option(help="Validation files; without them some training examples are held out."),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="translate, tag, classify, point or language.")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", "-s", help="Change one setting: `train.steps=500`.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> int:
    """Train a model on your own files. The same command again goes on where it stopped.

    `regard train train.en train.de` learns to translate; a CoNLL file makes a tagger, a file of labelled
    lines a classifier. `regard train --toy reverse --preset bahdanau2015` needs no data at all.
    """
    output.speak_json(as_json)
    files, changes = files or [], changes or []
    folder, settings = _place_and_settings(
        files, out, preset, config, toy, valid or [], task, changes
    )
    from regard.show.progress import JsonProgress, TrainingProgress
    from regard.train import train as run_training

    listener = JsonProgress() if as_json else TrainingProgress()
    outcome = run_training(folder, settings, listener, device)
    return 0 if outcome.signal is None else 128 + outcome.signal


def _place_and_settings(files, out, preset, config, toy, valid, task, changes):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """An earlier run goes on with its own settings; a new one has its folder named after what it learns."""
    from regard.cli.resolve import resolve
    from regard.config import overlay, parse, read_toml
    from regard.run.settings import RunSettings

    earlier = files[0] if len(files) == 1 and (files[0] / "config.toml").is_file() else None
    plain = not (files or preset or config or toy)
    if earlier is None and plain and out is not None and (out / "config.toml").is_file():
        earlier = out
    if earlier is not None:
        tree = overlay(read_toml(earlier / "config.toml"), changes)
        return earlier, parse(RunSettings, tree, where=str(earlier / "config.toml"))
    settings = resolve(
        name=preset, config=config, toy=toy, train=files, valid=valid, task=task, changes=changes
    )
    return out or Path("runs") / _name(settings, preset, config), settings


def _name(settings, preset, config) -> str:  # type: ignore[no-untyped-def] # noqa: ANN001
    learned = settings.data.toy or Path(settings.data.train[0]).name.split(".")[0]
    kind = preset or (config.stem if config else settings.task)
    return f"{learned}-{kind}"
