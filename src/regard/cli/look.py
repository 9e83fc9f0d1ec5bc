"""`regard look`: where a trained model looks while it answers, in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli import output
from regard.cli.main import app

if TYPE_CHECKING:
    from regard.run.folder import Run
    from regard.tasks import Sight


@app.command()
def look(
    run: Annotated[Path, typer.Argument(help="A run folder, or a zip archive of one.")],
    text: Annotated[
        str | None,
        typer.Argument(help="What to answer; without it, a held-out example of the run."),
    ] = None,
    site: Annotated[
        str | None, typer.Option(help="Which attention; all are named below the map.")
    ] = None,
    head: Annotated[int | None, typer.Option(help="One head, from 0; else their mean.")] = None,
    all_heads: Annotated[bool, typer.Option("--all-heads", help="A map for each head.")] = False,
    numbers: Annotated[bool, typer.Option("--numbers", help="Write the weights out.")] = False,
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses to follow.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All sites as a JSON object.")] = False,
) -> None:
    """Answer a text, and show which part of it the model looked at for each part of the answer.

    Each row is one step of the answer, each column one piece of the input; a row adds up to 1. The weights
    are those of the answer that search chose.
    """
    output.speak_json(as_json)
    from regard.run.predictor import Predictor

    predictor = Predictor.load(run, "cpu", note=output.say)
    text = _own_question(predictor.run) if text is None else text
    sight = predictor.look(text, beam=beam)
    if as_json:
        output.answer(_plain(text, sight))
    else:
        _show(sight, text, site, head, all_heads, numbers)


def _own_question(run: Run) -> str:
    from regard.errors import UsageError

    try:
        return run.probes()[0][0]
    except (FileNotFoundError, IndexError):
        where = str(run.folder)
        raise UsageError("this run kept no examples", where, "give a text to answer") from None


def _plain(text: str, sight: Sight) -> dict[str, Any]:
    """Axes name the tokens, and each site says which of them are its queries and keys."""
    return {
        "text": text,
        "answer": sight.prediction.as_dict(),
        "axes": {name: list(tokens) for name, tokens in sight.axes.items()},
        "sites": [
            {
                "path": site.path,
                "queries": site.queries,
                "keys": site.keys,
                "weights": site.weights.tolist(),
            }
            for site in sight.sites
        ],
    }


def _show(
    sight: Sight, text: str, path: str | None, head: int | None, every: bool, numbers: bool
) -> None:
    from rich.text import Text

    from regard.show.heatmap import sight as map_of
    from regard.show.label import one_line

    site = sight.site(path)
    heads = range(len(site.weights)) if every else [head]
    pictures = [map_of(sight, site.path, one, numbers=numbers) for one in heads]
    output.show(Text(f"{one_line(text)}  ->  {one_line(sight.prediction.text)}"))
    for picture in pictures:
        print()
        output.show(picture)
    others = [other.path for other in sight.sites if other.path != site.path]
    if others:
        output.say(f"\nother sites: {', '.join(others)}")
