"""`regard compare`: several models on the same data, in one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli import output
from regard.cli.main import app

if TYPE_CHECKING:
    from regard.run.settings import RunSettings
    from regard.training import Listener
    from regard.training.variants import Variant


@app.command()
def compare(
    files: Annotated[
        list[Path] | None, typer.Argument(help="What to learn from, as for `regard train`.")
    ] = None,
    presets: Annotated[
        list[str] | None, typer.Option("--preset", "-p", help="A preset; give several to compare.")
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="`model.reader.score=dot,additive`; several make every combination."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder.  [default: runs/compare-NAME]")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file of settings for all.")] = None,
    toy: Annotated[str | None, typer.Option(help="Learn a built-in toy instead of files.")] = None,
    valid: Annotated[list[Path] | None, typer.Option(help="Validation files.")] = None,
    test: Annotated[
        list[Path] | None, typer.Option(help="Test files; without them, what was held out.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="translate, tag, classify, point or language.")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", "-s", help="Change one setting of all.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="The table as a JSON object.")] = False,
) -> None:
    """Train several models on the same data, and judge them alike.

    Several presets, or one with several choices. Every model is a run below the folder, next to `table.md`
    and `table.json`. Typed again after a stop, it goes on; what is finished is not trained again.

    - `regard compare --toy reverse --preset sutskever2014 --preset bahdanau2015`
    - `regard compare --toy reverse --preset bahdanau2015 --vary model.reader.score=dot,additive`
    """
    output.speak_json(as_json)
    from regard.run.resolve import resolve
    from regard.training.compare import compare as compare_all
    from regard.training.variants import variants

    held_out = {"data": {"test": [str(path.resolve()) for path in test]}} if test else {}

    def settings_of(preset: str | None, more: Sequence[str]) -> RunSettings:
        return resolve(
            name=preset,
            config=config,
            toy=toy,
            train=files or [],
            valid=valid or [],
            task=task,
            changes=[*(changes or []), *more],
            more=held_out,
        )

    found = variants(presets or [], vary or [], settings_of)
    data = found[0].settings.data
    learned = data.toy or Path(data.train[0]).name.split(".")[0]
    folder = out or Path("runs") / f"compare-{learned}"
    with ExitStack() as shown:
        table = compare_all(folder, found, device, None if as_json else _teller(len(found), shown))
    if as_json:
        output.answer(table.as_dict())
        return
    from regard.show.report import comparison_table

    output.show(comparison_table(table))
    output.say(f"\nwritten to {folder / 'table.md'} and {folder / 'table.json'}")


def _teller(count: int, shown: ExitStack) -> Callable[[int, Variant], Listener]:
    """Say which of how many is trained, and show how it goes."""
    from regard.show.progress import TrainingProgress

    def tell(number: int, variant: Variant) -> Listener:
        output.say(f"\n{variant.name} ({number + 1} of {count})")
        return shown.enter_context(TrainingProgress())

    return tell
