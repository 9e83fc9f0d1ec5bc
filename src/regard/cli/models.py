"""`regard models`: what is in the box, what its cards say, and a run made small enough to travel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from regard.cli import output
from regard.cli.command import Group, app, command
from regard.cli.options import JsonObject
from regard.errors import UsageError, missing

if TYPE_CHECKING:
    from typer import Context
else:  # what the parser hands over, whichever copy of click Typer brings
    Context = typer.Context.__mro__[1]

models = typer.Typer(
    cls=Group,
    help="List the models that come with regard, print a model's card, pack a run to carry it, or import a "
    "model.",
    invoke_without_command=True,
)
app.add_typer(models, name="models")


@models.callback()
def everything(context: Context, as_json: JsonObject = False) -> None:
    """List the models that come with the package, print a card, or pack a run of your own."""
    output.speak_json(as_json)
    if context.invoked_subcommand is not None:
        return
    from regard import box

    found = [_facts(name) for name in box.names()]
    if output.wants_json:
        output.answer({"models": found})
    elif not found:
        output.say("The box is empty. Train a model of your own: regard train --help")
    else:
        from regard.show.catalogue import model_table

        output.show(
            model_table([box.card(name) for name in box.names()], [f["bytes"] for f in found])
        )
        output.say(f"regard models show {found[0]['name']}: data, scores and limits in full")


def show(
    name: Annotated[
        str, Argument(metavar="NAME", help="A model that comes with regard, by its name.")
    ],
    as_json: JsonObject = False,
) -> None:
    """Print the card of a model: its data, licence, settings, command, scores and limits."""
    output.speak_json(as_json)
    from regard import box

    facts = _facts(name)
    if output.wants_json:
        output.answer(facts)
        return
    from rich.markdown import Markdown

    text = (box.folder(name) / "README.md").read_text("utf-8")
    output.show(Markdown(text))


def pack(
    run: Annotated[Path, Argument(metavar="RUN", help="A run folder, or a zip archive of one.")],
    out: Annotated[Path, Argument(metavar="FOLDER", help="The folder to make.")],
    weights: Annotated[
        Literal["int8", "float16", "float32"],
        Option(help="The number format of the weights: 1, 2 or 4 bytes each."),
    ] = "int8",
    as_json: JsonObject = False,
) -> None:
    """Make a run small enough to carry: settings, tokenizer, card, and weights of one to four bytes each.

    The folder answers like the run itself: `regard translate FOLDER`. `regard evaluate RUN --against
    FOLDER` says what the smaller weights cost.
    """
    output.speak_json(as_json)
    from regard.run.find import folder_of

    if out.suffix == ".zip":
        what = "a folder is made here, not an archive"
        raise UsageError(what, str(out), f"name a folder, {out.stem}, and zip that")
    with folder_of(run):
        pass  # what is not there is said before torch is loaded
    from regard.run.pack import pack as packed

    made = packed(run, out, weights)
    facts = {"folder": str(made.folder), "before": made.before, "after": made.after}
    if output.wants_json:
        output.answer(facts)
    else:
        share = made.after / made.before
        output.say(f"{made.folder}: {made.after:,} bytes of weights, {share:.0%} of the run's")


def import_(
    folder: Annotated[
        Path,
        Argument(
            metavar="FOLDER", help="A Marian (OPUS-MT), BERT or GPT-2 folder of Hugging Face."
        ),
    ],
    out: Annotated[Path, Argument(metavar="RUN", help="The run folder to make.")],
    check: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="A text file whose first lines both models answer, so that all numbers can be compared. "
            "It needs `regard[hf]`.",
        ),
    ] = None,
    lines: Annotated[
        int, Option(min=1, metavar="N", help="The number of lines that --check compares.")
    ] = 100,
    as_json: JsonObject = False,
) -> None:
    """Bring in a model of Hugging Face as a run: a translator, a language model, or one of masked words.

    `regard predict RUN` answers with it. What a run cannot hold is refused, and the reason is named.
    """
    output.speak_json(as_json)
    for path, kind in ((folder, "folder"), *(((check, "file"),) if check is not None else ())):
        if not path.exists():
            raise missing(path, kind)
    from regard.interop import importing
    from regard.interop.bring import library_for

    if check is not None:
        library_for(str(folder))  # said before anything is written
    texts = importing.first_lines(check, lines) if check is not None else []
    run = importing.bring_in(folder, out)
    parity = importing.compare(run, folder, texts) if texts else None
    if output.wants_json:
        output.answer({"folder": str(out), "parity": None if parity is None else vars(parity)})
        return
    output.say(f"{out}: regard predict {out} 'text'")
    output.say(
        f"compared with {folder.name}: {parity.words()}" if parity else "Not compared: --check FILE"
    )


def _facts(name: str) -> dict[str, Any]:
    from regard import box
    from regard.box.card import size

    card = box.card(name).model_dump(mode="json")
    return {**card, "bytes": size(box.folder(name)), "folder": str(box.folder(name))}


command(show, parent=models)
command(pack, parent=models)
command(import_, parent=models)
