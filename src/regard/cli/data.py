"""`regard data`: look at files as training would, before anything is trained on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from regard.cli import output
from regard.cli.main import app

if TYPE_CHECKING:
    from regard.data.toys import Toy


@app.command()
def data(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="`train.en train.de`, one TSV, CSV, JSONL or CoNLL file, or a folder."),
    ] = None,
    valid: Annotated[list[Path] | None, typer.Option(help="Validation files.")] = None,
    test: Annotated[list[Path] | None, typer.Option(help="Test files.")] = None,
    task: Annotated[
        str | None, typer.Option(help="translate, tag, classify, point or language.")
    ] = None,
    on_bad_utf8: Annotated[
        Literal["stop", "skip"], typer.Option(help="What to do at a line that is not UTF-8.")
    ] = "stop",
    toy: Annotated[str | None, typer.Option(help="Look at a built-in toy instead.")] = None,
    toys: Annotated[bool, typer.Option("--toys", help="List the toys.")] = False,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Also learn a vocabulary, and plan the batches.")
    ] = False,
    preset: Annotated[
        str | None, typer.Option("--preset", "-p", help="With the settings of this preset.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="With the settings of a TOML file.")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="Change one setting: `text.vocabulary=4000`."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON object.")] = False,
) -> None:
    """Look at files as training would, before you train on them.

    Say what was understood, show three rows, and warn of what would harm training. With --tokens (or a
    preset, or --set) also how text is cut, how long rows are, how much of a batch is padding, and how many
    steps make an epoch. `regard data --toys` lists what needs no files at all.
    """
    output.speak_json(as_json)
    if toys:
        _list_toys()
        return
    files = files or []
    found = _look(files, valid or [], test or [], task, on_bad_utf8, toy)
    if tokens or preset or config or changes:
        from rich.console import Console

        from regard.run.resolve import resolve
        from regard.training.preview import preview

        changes = [f"data.on_bad_utf8={on_bad_utf8}", *(changes or [])]
        settings = resolve(
            name=preset,
            config=config,
            toy=toy,
            train=files,
            valid=valid or [],
            task=task,
            changes=changes,
        )
        with Console(stderr=True).status("") as shown:
            found["tokens"] = preview(
                settings, lambda what, done: shown.update(f"{what}: {done:,}")
            )
    if as_json:
        output.answer({name: _plain(part) for name, part in found.items()})
    else:
        _show(found)


def _look(
    files: list[Path],
    valid: list[Path],
    test: list[Path],
    task: str | None,
    on_bad_utf8: Literal["stop", "skip"],
    toy: str | None,
) -> dict[str, Any]:
    """A toy is as it is; files are gone through once."""
    from regard.data.check import examine
    from regard.data.readers import splits, understand
    from regard.data.toys import toy as toy_named
    from regard.errors import UsageError
    from regard.tasks.names import example_of, task_for

    if toy is not None:
        if files:
            raise UsageError(
                "look at a toy or at files, not both",
                where="--toy",
                remedy="leave out the toy, or the files",
            )
        return {"toy": toy_named(toy)}
    found = splits(files, example_of(task), on_bad_utf8=on_bad_utf8)
    held_out = {"valid": found.valid, "test": found.test}
    for role, given in (("valid", valid), ("test", test)):
        if given:
            held_out[role] = understand(
                given, found.train.kind, on_bad_utf8=on_bad_utf8, keep_empty=role == "test"
            )
    return {
        "task": task_for(found.train.kind),
        "report": examine(found.train, held_out["valid"], held_out["test"]),
    }


def _plain(part: Any) -> Any:
    from regard.data.toys import Toy

    if isinstance(part, Toy):
        return _toy_facts(part)
    return part if isinstance(part, str) else part.as_dict()


def _toy_facts(toy: Toy) -> dict[str, Any]:
    from regard.tasks.names import task_for

    plain = {name: getattr(toy, name) for name in ("name", "title", "unit", "story")}
    plain["task"] = task_for(toy.kind)
    rows = [example.as_dict() for example in toy.examples("train", 3)]
    return {**plain, "probe": toy.probe.as_dict(), "rows": rows}


def _show(found: dict[str, Any]) -> None:
    from regard.show import preview, report

    if "toy" in found:
        output.show(preview.toy_card(found["toy"]))
    else:
        output.show(report.data_report(found["report"]))
        print(f"\ntask: {found['task']}")
    if "tokens" in found:
        print()
        output.show(preview.tokens(found["tokens"]))


def _list_toys() -> None:
    from regard.data.toys import TOYS
    from regard.show.preview import toy_list

    if output.wants_json:
        output.answer({name: _toy_facts(toy) for name, toy in TOYS.items()})
    else:
        output.show(toy_list(TOYS.values()))
