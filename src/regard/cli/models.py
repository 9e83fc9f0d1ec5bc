"""`regard models`: what is in the box, what its cards say, and a run made small enough to travel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from regard.cli import output
from regard.cli.main import app

if TYPE_CHECKING:
    from typer import Context
else:  # what the parser hands over, whichever copy of click Typer brings
    Context = typer.Context.__mro__[1]

models = typer.Typer(
    help="List the models in the box, show their cards, pack a run.",
    invoke_without_command=True,
    rich_markup_mode="markdown",
)
app.add_typer(models, name="models")
AsJson = Annotated[bool, typer.Option("--json", help="As a JSON object.")]


@models.callback()
def everything(context: Context, as_json: AsJson = False) -> None:
    """List the models that come with the package; `regard models show NAME` prints a card."""
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
        from regard.show.card import model_table

        output.show(
            model_table([box.card(name) for name in box.names()], [f["bytes"] for f in found])
        )
        output.say(f"regard models show {found[0]['name']}: data, scores and limits in full")


@models.command()
def show(
    name: Annotated[str, typer.Argument(help="A model of the box.")], as_json: AsJson = False
) -> None:
    """Print the card of a model: data, licence, settings, command, scores with signatures, limits."""
    output.speak_json(as_json)
    from regard import box

    facts = _facts(name)
    if output.wants_json:
        output.answer(facts)
        return
    from rich.markdown import Markdown

    text = (box.folder(name) / "README.md").read_text("utf-8")
    output.show(Markdown(text))


@models.command()
def pack(
    run: Annotated[Path, typer.Argument(help="A run folder, or a zip archive of one.")],
    out: Annotated[Path, typer.Argument(help="A folder to make.")],
    weights: Annotated[str, typer.Option(help="int8, float16 or float32.")] = "int8",
    as_json: AsJson = False,
) -> None:
    """Make a run small enough to carry: settings, tokenizer, card, and weights of one or two bytes each.

    The folder answers like the run itself: `regard translate OUT`. `regard evaluate RUN --against OUT` says
    what the narrower weights cost.
    """
    output.speak_json(as_json)
    from regard.errors import UsageError, nearest
    from regard.models.quantize import Weights
    from regard.run.pack import pack as packed

    known = ("float16", "float32", "int8")
    if weights not in known:
        raise UsageError(f"no weights '{weights}'", "--weights", nearest(weights, known))
    made = packed(run, out, cast(Weights, weights))
    facts = {"folder": str(made.folder), "before": made.before, "after": made.after}
    if output.wants_json:
        output.answer(facts)
    else:
        share = made.after / made.before
        output.say(f"{made.folder}: {made.after:,} bytes of weights, {share:.0%} of the run's")


def _facts(name: str) -> dict[str, Any]:
    from regard import box
    from regard.box.card import size

    card = box.card(name).model_dump(mode="json")
    return {**card, "bytes": size(box.folder(name)), "folder": str(box.folder(name))}
