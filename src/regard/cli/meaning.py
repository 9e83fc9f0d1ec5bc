"""`regard senses`: one word in many sentences, and whether a model tells its meanings apart; or all words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import SAVED, command
from regard.cli.options import JsonObject, To, refuse_unused
from regard.cli.target import check_language, check_there

if TYPE_CHECKING:
    from regard.answer.predictor import Predictor
    from regard.show.figure import Figure
    from regard.traces.senses import Senses


@command
def senses(
    model: Annotated[
        str,
        Argument(
            metavar="RUN",
            help="A run folder, an archive of one, a model in the box, or a folder of Hugging Face's.",
        ),
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
            help="Sentences that the word stands in. For bank, light, run and شیر regard has its own. The "
            "last is Persian for milk, lion and tap, and `persian` in the box is the model that reads it.",
        ),
    ] = None,
    layer: Annotated[
        int | None,
        Option(min=0, metavar="N", help="Behind which layer of the encoder. Default: the last."),
    ] = None,
    clusters: Annotated[
        int | None,
        Option(
            min=1,
            metavar="N",
            help="How many groups to look for. Default: one for each meaning in regard's own sentences, "
            "2 in others, 8 of words.",
        ),
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
    - `regard senses persian شیر`
    - `regard senses runs/mine light --corpus books.txt --layer 3`
    - `regard senses folder/of/bert bank`
    - `regard senses translator --svg words.svg`
    """
    output.speak_json(as_json)
    check_there(model, [corpus] if corpus else ())
    check_language(model, to)
    if word is None:
        unused = {
            "--corpus": corpus is not None,
            "--to": to is not None,
            "--layer": layer is not None,
        }
        refuse_unused(unused, "the map of frequent words is of their vectors alone: name a word")
    from regard.answer.predictor import Predictor
    from regard.answer.studies import sense_steps, texts_of
    from regard.interop.bring import Brought
    from regard.interop.studied import refuse_language, sense_steps_of
    from regard.run.find import is_brought
    from regard.traces.head_survey import finished, read
    from regard.traces.senses import at_layer

    if word is None:
        _words(
            Predictor.load(model, "cpu", note=output.say, looking=True),
            clusters or 8,
            most,
            svg,
            as_json,
        )
        return
    own = None if corpus is None else [one.text for one in read([corpus])]
    texts = texts_of(word, own)
    if is_brought(model):
        refuse_language(to)
        steps = sense_steps_of(Brought.open(model), word, texts, groups=clusters, most=most)
    else:
        predictor = Predictor.load(model, "cpu", note=output.say, looking=True)
        steps = sense_steps(predictor, word, texts, to, groups=clusters, most=most)
    found = at_layer(finished(steps), layer)
    if svg is not None:
        _draw(svg, _senses_figure(found))
    if as_json:
        output.answer(found.as_dict())
    else:
        _show_senses(found)


def _show_senses(found: Senses) -> None:
    from rich.table import Table

    from regard.show.label import isolated, one_line

    table = Table(title=f"{found.word}, layer {found.layer}", title_justify="left", box=None)
    known = {
        "sense": any(one.sense for one in found.occurrences),
        "translated by": any(one.label for one in found.occurrences),
    }
    for name in (
        "group",
        *(name for name in known if known[name]),
        "x",
        "y",
        "nearest",
        "sentence",
    ):
        table.add_column(name)
    order = sorted(range(len(found.occurrences)), key=lambda n: found.clusters[n])
    for number in order:
        one, at = found.occurrences[number], found.map[number]
        near, alike = found.neighbours(number, 1)[0]
        labels = [one.sense] * known["sense"] + [one.label] * known["translated by"]
        text = isolated(one_line(one.shown or one.text))
        cells = (str(found.clusters[number]), *labels, f"{at[0]:.2f}", f"{at[1]:.2f}")
        table.add_row(*cells, f"{near} ({alike:.2f})", f"{number}: {text}")
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
        Dot(float(x), float(y), group, one.label or one.sense, one.shown or one.text)
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
