"""`regard look`: where a trained model looks while it answers, in the terminal or as a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final

from typer import Option

from regard.cli import output
from regard.cli.command import SAVED, command
from regard.cli.look_inside import Files, write
from regard.cli.options import Asked, JsonObject, Languages, Search, To, refuse_unused
from regard.cli.target import Target, meant, refuse_files
from regard.errors import UsageError
from regard.tasks.names import AT_ONCE

if TYPE_CHECKING:
    from rich.console import RenderableType

    from regard.answer.predictor import Predictor
    from regard.show.figure import Figure
    from regard.show.overlay import Manner
    from regard.traces.site import TracedSite
    from regard.traces.trace import Trace


@final
@dataclass(frozen=True)
class Picture:
    """Which attention is drawn, and how."""

    site: Annotated[
        str | None,
        Option(
            metavar="PATH",
            help="Which attention of the model to draw, such as decoder.blocks.0.cross; all are listed "
            "below the map. The default is the one that is most like an alignment.",
        ),
    ] = None
    head: Annotated[
        int | None,
        Option(
            metavar="N", help="Draw one head, counted from 0. The default is the mean of all heads."
        ),
    ] = None
    all_heads: Annotated[bool, Option("--all-heads", help="Draw one map for each head.")] = False
    numbers: Annotated[
        bool, Option("--numbers", help="Write the weights as numbers into the map.")
    ] = False
    turned: Annotated[
        bool,
        Option(
            "--turned",
            help="Turn the map: the input goes down, and each column is one step of the answer.",
        ),
    ] = False
    smooth: Annotated[
        bool,
        Option(
            "--smooth",
            help="Over a picture, interpolate between the cells. The default is one square a weight.",
        ),
    ] = False
    arcs: Annotated[
        bool,
        Option(
            "--arcs",
            help="Draw how a text is read: an arc from each word to the earlier one it looks at.",
        ),
    ] = False

    @property
    def given(self) -> dict[str, bool]:
        """Which of these options were typed."""
        named = {"--site": self.site is not None, "--head": self.head is not None}
        flags = {"--all-heads": self.all_heads, "--numbers": self.numbers, "--turned": self.turned}
        return {**named, **flags, "--smooth": self.smooth, "--arcs": self.arcs}

    @property
    def manner(self) -> Manner:
        """How weights over a picture are drawn."""
        return "smooth" if self.smooth else "cells"


@final
@dataclass(frozen=True)
class Instead:
    """What is drawn in the place of attention."""

    unrolled: Annotated[
        bool,
        Option(
            "--unrolled",
            help="Draw a recurrent model step by step instead: the hidden state after each word that is "
            "read and each word that is said, as colours.",
        ),
    ] = False
    positions: Annotated[
        bool,
        Option(
            "--positions",
            help="Draw the vectors that the model adds to tell positions, learned or computed, as colours.",
        ),
    ] = False
    plane: Annotated[
        bool,
        Option(
            "--plane",
            help="Draw items of two numbers where they lie in the plane instead, and the answer as a line "
            "through them: a tour, or a hull.",
        ),
    ] = False

    @property
    def given(self) -> dict[str, bool]:
        """Which of these options were typed."""
        return {"--unrolled": self.unrolled, "--positions": self.positions, "--plane": self.plane}


@final
@dataclass(frozen=True)
class Saved:
    """The files that a trace is written into."""

    svg: Annotated[
        Path | None, Option(metavar="FILE", rich_help_panel=SAVED, help="Draw the map as SVG.")
    ] = None
    png: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            rich_help_panel=SAVED,
            help="Draw the map as PNG. This needs Pillow: `pip install 'regard[png]'`.",
        ),
    ] = None
    html: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            rich_help_panel=SAVED,
            help="Write one HTML page to explore all heads; it needs no network.",
        ),
    ] = None
    npz: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            rich_help_panel=SAVED,
            help="Save the whole trace with every weight, for `regard.Trace.load`.",
        ),
    ] = None

    @property
    def given(self) -> dict[str, bool]:
        """Which of these options were typed."""
        files = {"--svg": self.svg, "--png": self.png, "--html": self.html, "--npz": self.npz}
        return {name: path is not None for name, path in files.items()}


@command
def look(
    *,
    asked: Asked,
    to: To = None,
    picture: Picture,
    instead: Instead,
    search: Search,
    saved: Saved,
    as_json: JsonObject = False,
) -> None:
    """Draw where a model looks for each part of its answer.

    Each row is one step of the answer, each column one piece of the input, and the weights of a row add up
    to 1. Without a run the translator that comes with regard answers; without a text, it takes an example of
    its own. A folder of a Hugging Face model can be named, too.

    - `regard look "The black cat ate the mouse." --to fr`
    - `regard look runs/mine "a text" --head 2 --png map.png`
    - `regard look runs/plain "n o t e s" --unrolled --svg steps.svg`
    - `regard look runs/tour --plane --png tour.png`
    - `regard look "The black cat ate the mouse." --to fr,de` has the word orders of several languages
    """
    output.speak_json(as_json)
    run, texts = meant(asked.words or (), asked.model, _first_task())
    # A folder of a Hugging Face model has no settings of ours, and says no languages.
    target = None if (run / "config.json").is_file() else Target.of(run)
    if target is None or not target.reads_files:
        refuse_files(texts, "type one of its lines, in quotes")
    text, files = " ".join(texts), Files(saved.svg, saved.png, as_json)
    whole = {name: saved.given[name] for name in ("--html", "--npz")}  # of attention alone
    whole["--max-length"] = search.given["--max-length"]
    if to is not None and "," in to:
        refuse_unused(picture.given | whole | instead.given, f"--to {to} draws the order of words")
        _orders(run, text, to.split(","), search.beam, files)
    elif any(instead.given.values()):
        unused = picture.given | whole | {"--to": to is not None}
        _inside(run, text, instead, search.beam, files, unused)
    else:
        if target is not None:
            target.manner(Languages(to), [text] if texts else [])
        _refuse_ignored(picture.given, saved.given | {"--json": as_json})
        if target is not None and target.settings and target.settings.task in AT_ONCE:
            refuse_unused(search.given, "this model searches for nothing")
        _attention(_seen(run, text, to, search), picture, saved, files)


# What each kind of output has no use for; the terminal's own is "".
_UNUSED = {
    "": set[str](),
    "--svg": {"--all-heads", "--numbers"},
    "--png": {"--all-heads", "--numbers"},
    "--html": {"--all-heads", "--numbers", "--turned", "--smooth", "--arcs"},
    "--npz": {"--all-heads", "--numbers", "--turned", "--smooth", "--arcs", "--head", "--site"},
    "--json": {"--all-heads", "--numbers", "--turned", "--smooth", "--arcs", "--head", "--site"},
}


def _refuse_ignored(typed: Mapping[str, bool], outputs: Mapping[str, bool]) -> None:
    """Nothing that was typed is ignored in silence: each option is used by one of the outputs at least."""
    given, kinds = ({name for name, is_given in of.items() if is_given} for of in (typed, outputs))
    useless = set.intersection(*(_UNUSED[kind] for kind in kinds or [""]))
    one_map = not {"--html", "--npz", "--json"} & kinds
    why = "a picture shows one map, without numbers" if one_map else "the whole trace is written"
    refuse_unused(dict.fromkeys(sorted(given & useless), True), why)
    if "--arcs" in given:
        drawn = {"--all-heads", "--numbers", "--turned", "--smooth"}
        refuse_unused(dict.fromkeys(sorted(given & drawn), True), "arcs are no map")
    if "--all-heads" in given:
        refuse_unused({"--head": "--head" in given}, "--all-heads draws each of them")


def _orders(
    run: Path,
    text: str,
    languages: Sequence[str],
    beam: int | None,
    files: Files,
) -> None:
    """One sentence in several languages, by a translator's own attention."""
    for language in languages:
        Target.of(run).manner(Languages(language), [text] if text else [])
    from regard.answer.predictor import Predictor
    from regard.cli import look_inside

    predictor = Predictor.load(run, "cpu", note=output.say, looking=True)
    question = text or _own_question(predictor)
    look_inside.orders(predictor, question, languages, beam, files)


def _inside(
    run: Path,
    text: str,
    instead: Instead,
    beam: int | None,
    files: Files,
    unused: dict[str, bool],
) -> None:
    """States over time, a table of positions, or items in the plane, in the place of attention."""
    option, *others = [name for name, given in instead.given.items() if given]
    if others:
        what = f"{option} and {others[0]} draw different things"
        raise UsageError(what, others[0], f"leave out {option}, or {others[0]}")
    beamed = {"--beam": option == "--positions" and beam is not None}
    refuse_unused(unused | beamed, f"{option} draws no attention")
    from regard.answer.predictor import Predictor
    from regard.cli import look_inside

    predictor = Predictor.load(run, "cpu", note=output.say, looking=True)
    if option == "--positions":
        if text:
            raise UsageError("positions are the same for every text", "--positions", "leave it out")
        look_inside.positions(predictor, files)
        return
    question = text or _own_question(predictor)
    draw = look_inside.unrolled if option == "--unrolled" else look_inside.plane
    draw(predictor, question, beam, files)


def _first_task() -> str:
    """That of the model which answers when none is named."""
    from regard import box

    return box.card(box.names()[0]).task if box.names() else ""


def _seen(run: Path, text: str, to: str | None, search: Search) -> Trace:
    """The trace of a text, or of the model's own example; of a Hugging Face folder, as it answers."""
    from regard.answer.predictor import Predictor
    from regard.answer.tracing import trace
    from regard.interop.bring import Brought
    from regard.run.find import is_brought

    if is_brought(run):
        if not text:
            raise UsageError("there is no text to look at", str(run), "type one, in quotes")
        if to is not None:
            raise UsageError("this folder says no languages", "--to", "write its tag in the text")
        return Brought.open(run).trace(text, beam=search.beam, most=search.max_length)
    predictor = Predictor.load(run, "cpu", note=output.say, looking=True)
    if not text and to is None and predictor.card is not None and predictor.card.directions:
        to = predictor.card.directions[0].partition("-")[2]
    question = text or _own_question(predictor)
    seen = trace(predictor, question, beam=search.beam, max_length=search.max_length, to=to)
    if seen.doubt:
        output.say(f"note: {seen.doubt}")
    return seen


def _attention(seen: Trace, picture: Picture, saved: Saved, files: Files) -> None:
    """Write a trace into files, each by its kind; as JSON, or into the terminal, if it goes nowhere else."""
    if picture.smooth:
        from regard.show.overlay import draws_pictures

        refuse_unused(
            {"--smooth": not draws_pictures(seen, picture.site)}, "there is no picture below"
        )
    if files.wanted:
        files.draw(_figure(seen, picture))
    if saved.html is not None:
        from regard.show.page import page

        write(saved.html, page(seen, site=picture.site, head=picture.head).encode())
    if saved.npz is not None:
        seen.save(saved.npz)
        output.say(f"wrote {saved.npz}")
    if files.as_json:
        print(seen.to_json(), flush=True)
    elif not any(saved.given.values()):
        _show(seen, picture)


def _figure(seen: Trace, picture: Picture) -> Figure:
    from regard.show import arcs, sheet

    if picture.arcs:
        return arcs.drawing(seen, picture.site, picture.head)
    site, head = picture.site, picture.head
    return sheet.drawing(seen, site, head, turned=picture.turned, manner=picture.manner)


def _own_question(predictor: Predictor) -> str:
    """The model's example, or the first that its run kept; a damaged record of those says so itself."""
    run = predictor.run
    kept = run.has_probes and run.probes()
    if predictor.card is None and not kept:
        raise UsageError("this run kept no examples", str(run.folder), "give a text to answer")
    return predictor.example


def _show(seen: Trace, picture: Picture) -> None:
    """The question, the answer and the maps; below them, what other attentions there are."""
    from rich.text import Text

    from regard.question import titled
    from regard.show.heatmap import ribbons
    from regard.show.label import one_line

    site = seen.site(picture.site)
    pictures, drawn, note = _drawn(seen, site, picture)
    answer = f"  ->  {one_line(seen.answer.text)}" if seen.answer.text else ""
    output.show(Text(f"{one_line(titled(seen.question, seen.axes))}{answer}"))
    for one in (*pictures, *ribbons(seen)):
        print()
        output.show(one)
    _say_times(seen, site)
    if note:
        output.say(note)
    others = [other.path for other in seen.sites if other.path not in drawn]
    if others:
        output.say("\nOther attentions, for --site:")
        for line in _alike(others):
            output.say(f"  {line}")


def _drawn(
    seen: Trace, site: TracedSite, picture: Picture
) -> tuple[list[RenderableType], set[str], str]:
    """The maps that were asked for, the attentions that they show, and which heads aligned words."""
    from regard.show import arcs
    from regard.show.overlay import maps, picture_maps

    if picture.arcs:  # of an attention that looks back, which has no alignment
        where = arcs.Reading.of(seen, picture.site, picture.head).where
        return [arcs.arcs(seen, picture.site, picture.head)], {where}, ""
    manner: dict[str, Any] = {
        "manner": picture.manner,
        "numbers": picture.numbers,
        "turned": picture.turned,
    }
    every = range(len(site.weights))
    if picture.site is not None or picture.head is not None or picture.all_heads:
        heads = every if picture.all_heads else [picture.head]
        return [picture_maps(seen, site.path, one, **manner) for one in heads], {site.path}, ""
    note = ""
    if seen.look is not None:
        which = ", ".join(map(str, seen.look.heads or every))
        note = f"\nWhole words, by the heads {which} of {site.path}."
    drawn = {one.path for one in (seen.beside(site) or [site])}
    return maps(seen, **manner), drawn, note


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
    groups: dict[str, list[str]] = {}
    for path in paths:
        before, number, after = re.fullmatch(r"(\D*)(\d*)(.*)", path).groups()  # type: ignore[union-attr]
        groups.setdefault(f"{before}{'N' * bool(number)}{after}", []).append(number)
    for name, numbers in groups.items():
        yield f"{name}   N = {', '.join(numbers)}" if any(numbers) else name
