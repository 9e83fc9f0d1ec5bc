"""`regard senses`: one word in many sentences, and whether a model tells its meanings apart; or all words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import command
from regard.cli.options import SAVED, JsonObject, To
from regard.cli.study import first_direction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from regard.answer.predictor import Predictor
    from regard.show.figure import Figure
    from regard.tasks.axis import Axis
    from regard.traces.senses import Occurrence, Senses


@command
def senses(
    model: Annotated[
        str, Argument(metavar="RUN", help="A run folder, an archive of one, or a model in the box.")
    ],
    word: Annotated[
        str | None,
        Argument(
            metavar="[WORD]",
            help="The word to look at, such as `bank`, `light` or `run`. Without it, the vectors of the most "
            "frequent words themselves, which know no context.",
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Sentences that the word stands in. For bank, light, run and شیر regard has its own.",
        ),
    ] = None,
    layer: Annotated[
        int | None,
        Option(min=0, metavar="N", help="Behind which layer of the encoder. Default: the last."),
    ] = None,
    clusters: Annotated[
        int | None,
        Option(min=1, metavar="N", help="How many groups to look for. Default: 2, of words 8."),
    ] = None,
    to: To = None,
    most: Annotated[
        int, Option(min=2, metavar="N", help="How many occurrences, or words, to look at.")
    ] = 200,
    svg: Annotated[
        Path | None, Option(metavar="FILE", rich_help_panel=SAVED, help="Draw the map as SVG.")
    ] = None,
    as_json: JsonObject = False,
) -> None:
    """Show every occurrence of a word: its group, its place on a map, its neighbour and its translation.

    - `regard senses translator bank --to fr`
    - `regard senses runs/mine light --corpus books.txt --layer 3`
    - `regard senses translator --svg words.svg`
    """
    output.speak_json(as_json)
    from regard.answer.predictor import Predictor
    from regard.errors import UsageError
    from regard.tasks import Prediction
    from regard.traces.senses import find, study

    if word is None:
        _words(Predictor.load(model, "cpu", note=output.say), clusters or 8, most, svg, as_json)
        return
    texts = _texts(word, corpus)
    predictor = Predictor.load(model, "cpu", note=output.say)
    to = to or first_direction(predictor)
    task = predictor.run.task

    def read(text: str) -> str:
        part = predictor.whole(text, to)
        return text if part is None else part.read

    def axis_of(text: str) -> Axis:
        axes = task.forced(text, Prediction("")).axes
        if "source" not in axes:
            raise UsageError("this model reads no source", "model", "take one with an encoder")
        return axes["source"]

    known = {sense: [read(text) for text in some] for sense, some in texts.items()}
    occurrences = find(word, known, axis_of)[:most]
    labelled = [_labelled(predictor, one, word, to) for one in occurrences]
    count = clusters or (len(texts) if len(texts) > 1 else 2)
    found = study(task, predictor.model, word, labelled, axis_of, layer, count)
    if svg is not None:
        _draw(svg, _senses_figure(found))
    if as_json:
        output.answer(found.as_dict())
    else:
        _show_senses(found, str if predictor.passages is None else predictor.passages.bare)


def _texts(word: str, corpus: Path | None) -> Mapping[str, Sequence[str]]:
    from regard.errors import UsageError
    from regard.traces.examples import SENSES

    if corpus is not None:
        from regard.traces.head_survey import read

        return {"": [one.text for one in read([corpus])]}
    if word.casefold() not in SENSES:
        known = ", ".join(SENSES)
        raise UsageError(
            f"no sentences for '{word}' come with regard", "word", f"take {known}; or --corpus"
        )
    return SENSES[word.casefold()]


def _labelled(predictor: Predictor, one: Occurrence, word: str, to: str | None) -> Occurrence:
    """With the word that it was translated by, as the attention that aligns best says."""
    from regard.answer.tracing import trace
    from regard.traces.head_roles import is_special

    if predictor.passages is None:
        return one
    bare = predictor.passages.bare(one.text)
    seen = trace(predictor, bare, beam=1, to=to)
    words = [own.casefold() for own in seen.axes["source"].words]
    if word.casefold() not in words:
        return one
    column = seen.alignment()[:, words.index(word.casefold())]
    said = seen.axes["target"].words
    real = [number for number, own in enumerate(said) if not is_special(own)]
    label = said[max(real, key=lambda number: column[number])] if real else ""
    return replace(one, label=label)  # its text stays as the model reads it, and so does its place


def _show_senses(found: Senses, bare: Callable[[str], str]) -> None:
    from rich.table import Table

    from regard.show.label import one_line

    table = Table(title=f"{found.word}, layer {found.layer}", title_justify="left", box=None)
    for name in ("group", "sense", "translated by", "x", "y", "nearest", "sentence"):
        table.add_column(name)
    order = sorted(range(len(found.occurrences)), key=lambda n: found.clusters[n])
    for number in order:
        one, at = found.occurrences[number], found.map[number]
        near, alike = found.neighbours(number, 1)[0]
        cells = (str(found.clusters[number]), one.sense, one.label, f"{at[0]:.2f}", f"{at[1]:.2f}")
        table.add_row(*cells, f"{near} ({alike:.2f})", f"{number}: {one_line(bare(one.text))}")
    output.show(table)
    score, static = found.score(), found.score(found.static)
    if score is not None and static is not None:
        output.say(
            f"nearest neighbour has the same sense: {score:.0%}; by the static vector: {static:.0%}"
        )


def _words(predictor: Predictor, groups: int, most: int, svg: Path | None, as_json: bool) -> None:
    """The map of the vectors of frequent words (L2)."""
    from regard.show.plot import Dot, scatter
    from regard.traces.word_map import word_map

    found = word_map(predictor.run.task, predictor.model, most, groups)
    names = found.named()
    if svg is not None:
        dots = [
            Dot(
                float(x),
                float(y),
                group,
                word,
                f"{word}: {', '.join(n for n, _ in found.near(number))}",
            )
            for number, (word, (x, y), group) in enumerate(
                zip(found.words, found.map, found.groups, strict=True)
            )
        ]
        note = f"two principal components: {found.explained:.0%} of the variance"
        _draw(svg, scatter(dots, f"{len(dots)} words of {predictor.run.folder.name}", names, note))
    if as_json:
        output.answer(found.as_dict())
        return
    for number, name in enumerate(names):
        output.say(f"{number}  {name}")
    output.say(f"the map shows {found.explained:.0%} of the variance; groups are of whole vectors")


def _senses_figure(found: Senses) -> Figure:
    from regard.show.plot import Dot, scatter

    dots = [
        Dot(float(x), float(y), group, one.label or one.sense, one.text)
        for one, (x, y), group in zip(found.occurrences, found.map, found.clusters, strict=True)
    ]
    groups = []
    for group in range(max(found.clusters) + 1):
        own = [
            one.sense or one.label
            for one, g in zip(found.occurrences, found.clusters, strict=True)
            if g == group
        ]
        groups.append(f"group {group}: {', '.join(dict.fromkeys(filter(None, own)))}")
    return scatter(dots, f"{found.word}, layer {found.layer}", groups)


def _draw(path: Path, figure: Figure) -> None:
    from regard.run.files import write_atomic
    from regard.show.svg_png import written

    write_atomic(path, written(figure).encode())
    output.say(f"wrote {path}")
