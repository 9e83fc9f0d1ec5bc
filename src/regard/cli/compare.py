"""`regard compare`: several models on the same data, in one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from regard.cli import output
from regard.cli.command import command
from regard.cli.options import Changes, Config, Corpus, Device, JsonObject

if TYPE_CHECKING:
    from regard.run.resolve import Variant
    from regard.run.settings import RunSettings
    from regard.training import Listener
    from regard.training.compare_runs import Table
    from regard.training.repeats import Repeats


@command
def compare(
    corpus: Corpus,
    place: Device,
    presets: Annotated[
        list[str] | None,
        Option(
            "--preset",
            "-p",
            metavar="NAME",
            help="A preset to compare; give it once for each. `regard config` lists the presets.",
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        Option(
            metavar="KEY=VALUES",
            help="A setting and the values to compare, such as `model.reader.score=dot,additive`. Given "
            "several times, every combination is trained.",
        ),
    ] = None,
    ablate: Annotated[
        bool,
        Option(
            "--ablate",
            help="Compare one Transformer with itself without each of its tricks: residual, norm, scale, "
            "feed-forward network, positions, and self-attention in the encoder, for which a fully connected "
            "layer over a window of 5 stands in. One preset, 3 seeds unless --seeds says otherwise.",
        ),
    ] = False,
    seeds: Annotated[
        int | None,
        Option(
            min=1,
            max=21,
            metavar="N",
            help="Train each model by N seeds, from its own on, and show means with 95% intervals, and the "
            "difference to the first model, seed by seed.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="The folder for all runs and the table. The default is runs/compare- and the name of the "
            "data.",
        ),
    ] = None,
    config: Config = None,
    changes: Changes = None,
    as_json: JsonObject = False,
) -> None:
    """Train several models on the same data, and compare their scores in one table.

    Several presets, or one with several values of a setting. Every model is a run below the folder, next to
    `table.md` and `table.json`. Typed again after a stop, the command continues; finished models are kept.
    With several seeds, means and intervals stand in `seeds.md` and `seeds.json`, and every run in `table.md`.

    - `regard compare --toy copy -p sutskever2014 -p bahdanau2015`
    - `regard compare --toy copy -p bahdanau2015 --vary model.reader.score=none,dot`
    - `regard compare --toy reverse -p vaswani2017-tiny --ablate --seeds 5`
    """
    output.speak_json(as_json)
    from regard.run.ablate import ablations, by_seeds
    from regard.run.corpus import Corpus as Data
    from regard.run.resolve import resolve, variants

    corpus.require_training(config)

    def settings_of(preset: str | None, more: Sequence[str]) -> RunSettings:
        return resolve(
            name=preset,
            config=config,
            toy=corpus.toy,
            train=corpus.files or [],
            valid=corpus.valid or [],
            task=corpus.task,
            changes=[*corpus.changes, *(changes or []), *more],
        )

    offer = ablations if ablate else variants
    models = offer(presets or [], vary or [], settings_of)
    repeated = by_seeds(models, seeds or (3 if ablate else 1))
    is_repeated = ablate or seeds is not None
    if is_repeated:
        models = [run for _, runs in repeated for run in runs]
    data = models[0].settings.data
    Data.of(data, models[0].settings.task)
    from regard.training.compare_runs import compare as compare_all

    learned = data.toy or Path(data.train[0]).name.split(".")[0]
    folder = out or Path("runs") / f"compare-{learned}"
    with ExitStack() as shown:
        teller = None if as_json else _teller(len(models), shown)
        table = compare_all(folder, models, place.device, teller)
    if not is_repeated:
        _show(table, folder / "table", as_json)
        return
    from regard.training.repeats import Repeats

    groups = {model.name: [run.name for run in runs] for model, runs in repeated}
    repeats = Repeats.of(table, groups)
    repeats.write(folder)
    _show(repeats, folder / "seeds", as_json)


def _show(table: Table | Repeats, written: Path, as_json: bool) -> None:
    if as_json:
        output.answer(table.as_dict())
        return
    from regard.show.report import comparison_table

    output.show(comparison_table(table))
    output.say(f"\nwritten to {written}.md and {written}.json")


def _teller(count: int, shown: ExitStack) -> Callable[[int, Variant], Listener]:
    """Say which of how many is trained, and show how it goes."""
    from regard.show.training_progress import TrainingProgress

    def tell(number: int, variant: Variant) -> Listener:
        output.say(f"\n{variant.name} ({number + 1} of {count})")
        return shown.enter_context(TrainingProgress())

    return tell
