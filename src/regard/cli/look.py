"""`regard look`: where a trained model looks while it answers, in the terminal or as a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from regard.cli import output
from regard.cli.command import command
from regard.cli.options import SAVED, Asked, Beam, JsonObject, Languages, To
from regard.cli.target import Target, meant, reads_files, refuse_files

if TYPE_CHECKING:
    from regard.answer.predictor import Predictor
    from regard.traces.site import TracedSite
    from regard.traces.trace import Trace


@command
def look(
    asked: Asked,
    to: To = None,
    site: Annotated[
        str | None,
        Option(
            metavar="PATH",
            help="Which attention of the model to draw, such as decoder.blocks.0.cross; all are listed "
            "below the map. The default is the one that is most like an alignment.",
        ),
    ] = None,
    head: Annotated[
        int | None,
        Option(
            metavar="N", help="Draw one head, counted from 0. The default is the mean of all heads."
        ),
    ] = None,
    all_heads: Annotated[bool, Option("--all-heads", help="Draw one map for each head.")] = False,
    numbers: Annotated[
        bool, Option("--numbers", help="Write the weights as numbers into the map.")
    ] = False,
    beam: Beam = None,
    svg: Annotated[
        Path | None, Option(metavar="FILE", rich_help_panel=SAVED, help="Draw the map as SVG.")
    ] = None,
    png: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            rich_help_panel=SAVED,
            help="Draw the map as PNG. This needs Pillow: `pip install 'regard[png]'`.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            rich_help_panel=SAVED,
            help="Write one HTML page to explore all heads; it needs no network.",
        ),
    ] = None,
    npz: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            rich_help_panel=SAVED,
            help="Save the whole trace with every weight, for `regard.Trace.load`.",
        ),
    ] = None,
    as_json: JsonObject = False,
) -> None:
    """Draw where a model looks for each part of its answer.

    Each row is one step of the answer, each column one piece of the input, and the weights of a row add up
    to 1. Without a run the translator that comes with regard answers; without a text, it takes an example of
    its own. A folder of a Hugging Face model can be named, too.

    - `regard look "The black cat ate the mouse." --to fr`
    - `regard look runs/mine "a text" --head 2 --png map.png`
    """
    output.speak_json(as_json)
    run, texts = meant(asked.words or (), asked.model, _first_task())
    if not reads_files(run):
        refuse_files(texts, "type one of its lines, in quotes")
    text = " ".join(texts)
    if not (run / "config.json").is_file():  # a folder of Hugging Face says no languages
        Target.of(run).manner(Languages(to), [text] if texts else [])
    seen = _seen(run, text, to, beam)
    _save(seen, site, head, {"svg": svg, "png": png, "html": html, "npz": npz})
    if as_json:
        print(seen.to_json(), flush=True)
    elif svg is png is html is npz is None:
        _show(seen, seen.question, site, head, all_heads, numbers)


def _first_task() -> str:
    """That of the model which answers when none is named."""
    from regard import box

    return box.card(box.names()[0]).task if box.names() else ""


def _seen(run: Path, text: str, to: str | None, beam: int | None) -> Trace:
    """The trace of a text, or of the model's own example; of a Hugging Face folder, as it answers."""
    from regard.answer.predictor import Predictor
    from regard.answer.tracing import trace
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


def _save(
    seen: Trace, site: str | None, head: int | None, places: Mapping[str, Path | None]
) -> None:
    """Write a trace into files, each by its kind."""
    for kind, path in places.items():
        match kind if path is not None else "":
            case "svg":
                from regard.show.svg_png import drawing

                _write(path, drawing(seen, site, head).encode())
            case "png":
                _write(path, _pixels(seen, site, head))
            case "html":
                from regard.show.page import page

                _write(path, page(seen, site=site, head=head).encode())
            case "npz":
                assert path is not None
                seen.save(path)
                output.say(f"wrote {path}")


def _write(path: Path | None, content: bytes) -> None:
    from regard.run.files import write_atomic

    assert path is not None
    write_atomic(path, content)
    output.say(f"wrote {path}")


def _pixels(seen: Trace, site: str | None, head: int | None) -> bytes:
    from regard.show import figure, svg_png

    content, missing = svg_png.painted(figure.drawing(seen, site, head))
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

    from regard.show.heatmap import alignment, ribbons, shares, site_map
    from regard.show.label import one_line

    site = seen.site(path)
    heads = range(len(site.weights)) if every else [head]
    chosen = seen.look if path is None and head is None and not every else None
    several = seen.beside(site) if path is None and head is None and not every else []
    if chosen is not None:
        pictures = [alignment(seen, numbers)]
    elif len(several) > 1:
        pictures = [site_map(seen, one.path, numbers=numbers) for one in several]
        pictures += [picture for picture in [shares(seen)] if picture is not None]
    else:
        pictures = [site_map(seen, site.path, one, numbers=numbers) for one in heads]
    pictures += ribbons(seen)
    answer = f"  ->  {one_line(seen.answer.text)}" if seen.answer.text else ""
    output.show(Text(f"{one_line(text)}{answer}"))
    for picture in pictures:
        print()
        output.show(picture)
    _say_times(seen, site)
    drawn = {one.path for one in (several or [site])}
    others = [other.path for other in seen.sites if other.path not in drawn]
    if chosen is not None:
        which = ", ".join(map(str, chosen.heads or range(len(site.weights))))
        output.say(f"\nWhole words, by the heads {which} of {site.path}.")
    if others:
        output.say("\nOther attentions, for --site:")
        for line in _alike(others):
            output.say(f"  {line}")


def _say_times(seen: Trace, site: TracedSite) -> None:
    """When each word was said, where the model listened to a sound."""
    from regard.tasks.axis import Times
    from regard.traces.word_times import word_times

    if isinstance(seen.axes[site.keys], Times) and site.queries == "target":
        output.say("\nWhen each word was said, as far as attention tells:")
        for word, begin, end in word_times(seen, site.path):
            output.say(f"  {begin:6.2f} to {end:.2f} s   {word}")


def _alike(paths: Sequence[str]) -> Iterator[str]:
    """Paths with all those in one line that differ in their first number alone."""
    found: dict[str, list[str]] = {}
    for path in paths:
        before, number, after = re.fullmatch(r"(\D*)(\d*)(.*)", path).groups()  # type: ignore[union-attr]
        found.setdefault(f"{before}{'N' * bool(number)}{after}", []).append(number)
    for name, numbers in found.items():
        yield f"{name}   N = {', '.join(numbers)}" if any(numbers) else name
