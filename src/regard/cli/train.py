"""`regard train`, from files to a model; `regard demo`, a minute of that; `regard config`, every setting."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import nullcontext
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import command
from regard.cli.options import (
    Changes,
    Choice,
    Corpus,
    Device,
    JsonLines,
    JsonObject,
    Toy,
    refuse_unused,
)
from regard.tasks.names import COMMANDS

if TYPE_CHECKING:
    from regard.models import ModelSettings
    from regard.run.settings import RunSettings
    from regard.training import Outcome


CONFIG = "config.toml"


@command
def train(
    corpus: Corpus,
    choice: Choice,
    place: Device,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="The folder that the run is kept in. The default is runs/ and a name made of the data "
            "and the preset.",
        ),
    ] = None,
    start_from: Annotated[
        str | None,
        Option(
            metavar="RUN",
            help="Begin with the vocabulary and the weights of an earlier run, or of a model that comes "
            "with regard, and train them further with a small learning rate.",
        ),
    ] = None,
    allow_change: Annotated[
        list[str] | None,
        Option(
            metavar="KEY",
            help="Continue a run although this setting was changed, such as `train.rate`. It may be given "
            "several times.",
        ),
    ] = None,
    fast: Annotated[
        bool,
        Option(
            "--fast",
            help="Use what makes training fast on a GPU: bfloat16, and for Transformers that translate "
            "packed rows and compiled steps.",
        ),
    ] = False,
    as_json: JsonLines = False,
) -> int:
    """Train a model on your own files, or continue a run that was stopped.

    Two files side by side make a translator, a CoNLL file a tagger, a file of labelled lines a classifier.
    The command can be killed at any moment and typed again: it continues from the last checkpoint. So does
    the name of the run folder alone: `regard train runs/mine`.

    - `regard train train.en train.de --valid valid.en valid.de`
    - `regard train train.en train.de --to train.fr` reads two languages at once, and writes a third
    - `regard train --toy reverse --preset bahdanau2015` needs no data at all
    - `regard train mine.tsv --start-from translator` teaches the translator that comes with regard your words
    - `regard train train.en train.de -p vaswani2017-base --fast` makes the most of a GPU
    """
    output.speak_json(as_json)
    folder, settings = _placed(corpus, choice, out, start_from)
    from regard.run.device import choose_device, need_gpu
    from regard.show.training_progress import JsonProgress, TrainingProgress
    from regard.training import train as run_training

    if fast:
        need_gpu(place.device, "fast=True")
        settings = settings.fast()
    slow = settings.can_pack and not settings.train.compile
    if slow and choose_device(place.device).type == "cuda" and not (folder / CONFIG).exists():
        output.say(
            "For such a model --fast makes more of this GPU: bfloat16, packed rows, recorded steps."
        )
    with nullcontext(JsonProgress()) if as_json else TrainingProgress() as listener:
        outcome = run_training(folder, settings, listener, place.device, allow_change or ())
    if os.environ.get("RANK", "0") == "0":  # of many processes the first one speaks
        _say_what_next(quote(str(folder)), settings, outcome)
    return 0 if outcome.signal is None else 128 + outcome.signal


def _placed(
    corpus: Corpus, choice: Choice, out: Path | None, start_from: str | None
) -> tuple[Path, RunSettings]:
    """The folder and the settings of a run, whose data are there and recognised."""
    from regard.run.corpus import Corpus as Found
    from regard.run.resolve import place

    corpus.require_training(choice.config)
    folder, settings = place(
        corpus.training,
        out,
        name=choice.preset,
        config=choice.config,
        start=start_from,
        toy=corpus.toy,
        valid=corpus.valid or [],
        task=corpus.task,
        changes=[*corpus.changes, *(choice.changes or [])],
    )
    Found.of(settings.data, settings.task)
    return folder, settings


def _say_what_next(folder: str, settings: RunSettings, outcome: Outcome) -> None:
    if outcome.signal is not None:
        output.say(f"The same command, or `regard train {folder}`, continues from there.")
        return
    verb = COMMANDS.get(settings.task, "predict")
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


# `regard demo`: watch a small attention model learn, in a minute, with nothing but this package.

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
    if again and (out / CONFIG).is_file():
        _remove_run(out)
    from regard.show.training_progress import JsonProgress, TrainingProgress
    from regard.training import train

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


def _remove_run(folder: Path) -> None:
    """A run and nothing else: a folder with other things in it is no place to clear."""
    from regard.errors import UsageError
    from regard.run.find import read_settings

    read_settings(folder / CONFIG)
    inside = folder.resolve()
    if inside in (Path.cwd(), *Path.cwd().parents):
        what = "this folder is not the run's alone: its files would all be removed"
        raise UsageError(what, str(folder), "name another: --out runs/demo")
    shutil.rmtree(folder)


# `regard config`: presets, and any of them fully spelled out.


@command
def config(
    preset: Annotated[
        str | None,
        Argument(metavar="[PRESET]", help="A preset by its name. Without one, all are listed."),
    ] = None,
    file: Annotated[
        Path | None,
        Option(
            "--config", metavar="FILE", help="A TOML file of settings. It overrides the preset."
        ),
    ] = None,
    toy: Toy = None,
    changes: Changes = None,
    as_json: JsonObject = False,
) -> None:
    """List the presets, or print every setting of one with its meaning.

    What is printed is a TOML file, ready to be saved and edited:

    - `regard config bahdanau2015 > my.toml`
    - `regard train --config my.toml`
    """
    output.speak_json(as_json)
    if preset is None and file is None:
        refuse_unused({"--set": bool(changes), "--toy": toy is not None}, "no preset was named")
        _list_presets(as_json)
        return
    from regard.config import to_toml
    from regard.run.resolve import resolve

    settings = resolve(name=preset, config=file, toy=toy, changes=changes or [])
    if as_json:
        output.answer(settings.model_dump(mode="json"))
    else:
        print(_undecided(to_toml(settings, explained=True), preset, file, changes), end="")


def _list_presets(as_json: bool) -> None:
    from regard.presets import about, names

    presets = {name: about(name) for name in names()}
    if as_json:
        output.answer(presets)
        return
    from regard.show.catalogue import preset_list

    output.show(preset_list(presets))


def _undecided(text: str, preset: str | None, file: Path | None, changes: list[str] | None) -> str:
    """How text is cut is left open where only a toy decided it: for files it is another way."""
    from regard.config import read_toml
    from regard.presets import preset as preset_named

    layers = [read_toml(file)] if file is not None else []
    layers += [preset_named(preset)] if preset is not None else []
    is_chosen = any("kind" in layer.get("text", {}) for layer in layers)
    if is_chosen or any(change.startswith("text.kind") for change in changes or ()):
        return text
    before, heading, rest = text.partition("\n[text]\n")
    row = re.match(r'kind = "[^"]*" *', rest)
    assert row is not None
    return before + heading + "# kind =".ljust(row.end()) + rest[row.end() :]
