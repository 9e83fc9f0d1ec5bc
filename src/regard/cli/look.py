"""`regard look`: where a trained model looks while it answers, in the terminal or as a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli import output
from regard.cli.main import app
from regard.cli.target import meant, refuse_files

if TYPE_CHECKING:
    from regard.answer.predictor import Predictor
    from regard.traces.trace import Trace


@app.command()
def look(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN] [TEXT]",
            help="A run folder, a zip archive of one, a model of the box by name, or a Hugging Face folder, "
            "and what to answer. "
            "Without a run, the box's translator; without a text, an example of the model's own.",
        ),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="The language to translate into: fr, de, en.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="A run or a model of the box; all else is text."),
    ] = None,
    site: Annotated[
        str | None, typer.Option(help="Which attention; all are listed below the map.")
    ] = None,
    head: Annotated[int | None, typer.Option(help="One head, from 0; else their mean.")] = None,
    all_heads: Annotated[bool, typer.Option("--all-heads", help="A map for each head.")] = False,
    numbers: Annotated[bool, typer.Option("--numbers", help="Write the weights out.")] = False,
    beam: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Hypotheses to follow.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(help="Draw the map into this SVG file.")] = None,
    png: Annotated[
        Path | None, typer.Option(help="Draw the map into this PNG file: needs regard[png].")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write all heads as one HTML file that needs no network.")
    ] = None,
    npz: Annotated[Path | None, typer.Option(help="Keep every number in this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The trace as a JSON object.")] = False,
) -> None:
    """Show where a model looks for each part of its answer.

    Each row is one step of the answer, each column one piece of the input; a row adds up to 1. The weights
    are those of the answer that search chose.
    """
    output.speak_json(as_json)
    run, texts = meant(words or (), model, "translate")
    refuse_files(texts, "type one of its lines, in quotes")
    seen = _seen(run, " ".join(texts), to, beam)
    if svg is not None:
        from regard.show.svg import drawing

        _write(svg, drawing(seen, site, head).encode())
    if png is not None:
        _write(png, _pixels(seen, site, head))
    if html is not None:
        from regard.show.page import page

        _write(html, page(seen, site=site, head=head).encode())
    if npz is not None:
        seen.save(npz)
        output.say(f"wrote {npz}")
    if as_json:
        print(seen.to_json(), flush=True)
    elif svg is png is html is npz is None:
        _show(seen, seen.question, site, head, all_heads, numbers)


def _seen(run: Path, text: str, to: str | None, beam: int | None) -> Trace:
    """The trace of a text, or of the model's own example; of a Hugging Face folder, as it answers."""
    from regard.answer.look import trace
    from regard.answer.predictor import Predictor
    from regard.errors import UsageError
    from regard.interop.bring import Brought, is_folder

    if is_folder(run):
        if not text:
            raise UsageError("there is no text to look at", str(run), "type one, in quotes")
        if to is not None:
            raise UsageError("this folder says no languages", "--to", "write its tag in the text")
        return Brought.open(run).trace(text, beam=beam)
    predictor = Predictor.load(run, "cpu", note=output.say)
    if not text and to is None and predictor.card is not None and predictor.card.directions:
        to = predictor.card.directions[0].partition("-")[2]
    return trace(predictor, text or _own_question(predictor), beam=beam, to=to)


def _write(path: Path, content: bytes) -> None:
    from regard.run.files import write_atomic

    write_atomic(path, content)
    output.say(f"wrote {path}")


def _pixels(seen: Trace, site: str | None, head: int | None) -> bytes:
    from regard.show import figure, raster

    content, missing = raster.painted(figure.drawing(seen, site, head))
    if missing:
        output.say(
            f"no font of this machine has {' '.join(missing)}: drawn as boxes, --svg has them"
        )
    return content


def _own_question(predictor: Predictor) -> str:
    from regard.errors import RegardError, UsageError

    if predictor.card is not None:
        return predictor.card.example
    try:
        return predictor.run.probes()[0][0]
    except (RegardError, IndexError):
        where = str(predictor.run.folder)
        raise UsageError("this run kept no examples", where, "give a text to answer") from None


def _show(
    seen: Trace, text: str, path: str | None, head: int | None, every: bool, numbers: bool
) -> None:
    from rich.text import Text

    from regard.show.heatmap import alignment, site_map
    from regard.show.label import one_line

    site = seen.site(path)
    heads = range(len(site.weights)) if every else [head]
    chosen = seen.look if path is None and head is None and not every else None
    if chosen is not None:
        pictures = [alignment(seen, numbers)]
    else:
        pictures = [site_map(seen, site.path, one, numbers=numbers) for one in heads]
    answer = f"  ->  {one_line(seen.answer.text)}" if seen.answer.text else ""
    output.show(Text(f"{one_line(text)}{answer}"))
    for picture in pictures:
        print()
        output.show(picture)
    others = [other.path for other in seen.sites if other.path != site.path]
    if chosen is not None:
        which = ", ".join(map(str, chosen.heads or range(len(site.weights))))
        output.say(f"\nWhole words, by the heads {which} of {site.path}.")
    if others:
        output.say("\nOther attentions, for --site:")
        for line in _alike(others):
            output.say(f"  {line}")


def _alike(paths: Sequence[str]) -> Iterator[str]:
    """Paths with all those in one line that differ in their first number alone."""
    found: dict[str, list[str]] = {}
    for path in paths:
        before, number, after = re.fullmatch(r"(\D*)(\d*)(.*)", path).groups()  # type: ignore[union-attr]
        found.setdefault(f"{before}{'N' * bool(number)}{after}", []).append(number)
    for name, numbers in found.items():
        yield f"{name}   N = {', '.join(numbers)}" if any(numbers) else name
