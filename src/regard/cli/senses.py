"""`regard senses`: one word in many sentences, and whether a model tells its meanings apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from regard.cli import output
from regard.cli.command import command
from regard.cli.options import JsonObject, To

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from regard.answer.predictor import Predictor
    from regard.tasks.axis import Axis
    from regard.traces.senses import Occurrence, Senses


@command
def senses(
    model: Annotated[
        str, Argument(metavar="RUN", help="A run folder, an archive of one, or a model in the box.")
    ],
    word: Annotated[
        str, Argument(metavar="WORD", help="The word to look at, such as `bank`, `light` or `run`.")
    ],
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
        int | None, Option(min=1, metavar="N", help="How many groups to look for. Default: 2.")
    ] = None,
    to: To = None,
    most: Annotated[int, Option(min=2, metavar="N", help="How many occurrences to look at.")] = 200,
    as_json: JsonObject = False,
) -> None:
    """Show every occurrence of a word: its group, its place on a map, its neighbour and its translation.

    - `regard senses translator bank --to fr`
    - `regard senses runs/mine light --corpus books.txt --layer 3`
    """
    output.speak_json(as_json)
    from regard.answer.predictor import Predictor
    from regard.cli.heads import first_direction
    from regard.errors import UsageError
    from regard.tasks import Prediction
    from regard.traces.senses import find, study

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
    if as_json:
        output.answer(found.as_dict())
    else:
        _show(found)


def _texts(word: str, corpus: Path | None) -> Mapping[str, Sequence[str]]:
    from regard.errors import UsageError
    from regard.traces.examples import SENSES

    if corpus is not None:
        from regard.traces.survey import read

        return {"": [one.text for one in read([corpus])]}
    if word.casefold() not in SENSES:
        known = ", ".join(SENSES)
        raise UsageError(
            f"no sentences for '{word}' come with regard", "word", f"take {known}; or --corpus"
        )
    return SENSES[word.casefold()]


def _labelled(predictor: Predictor, one: Occurrence, word: str, to: str | None) -> Occurrence:
    """With the word that it was translated by, as the attention that aligns best says."""
    from regard.answer.look import trace
    from regard.traces.heads import is_special

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
    return replace(one, text=bare, label=label)


def _show(found: Senses) -> None:
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
        table.add_row(*cells, f"{near} ({alike:.2f})", f"{number}: {one_line(one.text)}")
    output.show(table)
    score, static = found.score(), found.score(found.static)
    if score is not None and static is not None:
        output.say(
            f"nearest neighbour has the same sense: {score:.0%}; by the static vector: {static:.0%}"
        )
