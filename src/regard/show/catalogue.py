"""What there is to choose from, as lists and cards: toys, presets, a plan for a corpus, models of the box."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box as lines
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.box.card import Card, Score
from regard.data.tally import counted
from regard.data.toys import Toy
from regard.show.label import isolated, one_line, shortened
from regard.show.thumbnail import Thumbnail
from regard.tasks.names import COMMANDS, task_for

if TYPE_CHECKING:
    from regard.training.feed import Preview


ROWS = 3
SHOWN = 160  # cells of one side of an example


def toy_list(toys: Iterable[Toy]) -> RenderableType:
    """Name, task and story of each."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for toy in toys:
        table.add_row(
            Text(toy.name, style="bold"), Text(task_for(toy.kind), style="dim"), Text(toy.story)
        )
    return table


def preset_list(presets: Mapping[str, str]) -> RenderableType:
    """Name and story of each."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, story in presets.items():
        table.add_row(Text(name, style="bold"), Text(story))
    return table


def toy_card(toy: Toy) -> RenderableType:
    """One toy: its story, a few examples, and the one that is watched while a model learns."""
    lines: list[RenderableType] = [
        Text(toy.title, style="bold"),
        Text(toy.story),
        Text(),
        *(Text(f"  {example.line()}") for example in toy.examples("train", ROWS)),
        Text(f"  {toy.probe.line()}  (watched while learning)"),
        *map(Thumbnail, toy.probe.pictured.values()),
        Text(),
        Text(
            f"task: {task_for(toy.kind)}, one symbol a {'letter' if toy.unit == 'char' else toy.unit}"
        ),
    ]
    return Group(*lines)


def tokens(preview: Preview) -> RenderableType:
    """How text is cut, how long rows are, and how batches fill."""
    sizes = (
        f"{name}: {counted(size, 'name' if name == 'labels' else 'piece')}"
        for name, size in preview.vocabulary.items()
    )
    cut = (
        Text(f"  {isolated(shortened(one_line(' '.join(pieces)), SHOWN))}")
        for row in preview.cut
        for pieces in row.values()
    )
    return Group(*map(Text, sizes), *cut, Text(), _lengths(preview), Text(), *_plan(preview))


def _lengths(preview: Preview) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("length")
    for share in next(iter(preview.lengths.values())):
        table.add_column("longest" if share == 100 else f"{share}%", justify="right")
    for side, most in preview.lengths.items():
        table.add_row(side, *(f"{length:,}" for length in most.values()))
    return table


def _plan(preview: Preview) -> Iterator[Text]:
    shapes = counted(preview.shapes, "shape")
    yield Text(f"batches: {preview.batches:,} an epoch in {shapes}, {preview.waste:.1%} padding")
    if preview.skipped:
        left_out = f"{preview.skipped:,} of {preview.examples:,}"
        yield Text(f"too long for a batch, and left out: {left_out}", style="yellow")
    steps = counted(preview.steps_an_epoch, "step")
    yield Text(f"an epoch: {steps}; all of training: {preview.epochs:,.1f} epochs")


# Cards of models that travel: as a table of the box, and one of them in full as Markdown.

MIB = 1 << 20


def model_table(cards: Sequence[Card], sizes: Sequence[int]) -> RenderableType:
    """All models in the box, a row each."""
    table = Table(box=lines.SIMPLE_HEAD, pad_edge=False)
    for name in ("model", "does", "scores", "licence"):
        table.add_column(name)
    table.add_column("MiB", justify="right")
    for card, size in zip(cards, sizes, strict=True):
        table.add_row(
            Text(card.name, style="bold"),
            Text(card.title),
            Text("\n".join(_told(card.foremost()))),
            Text(card.licence),
            f"{size / MIB:.1f}",
        )
    return table


def _told(scores: Sequence[Score]) -> Iterator[str]:
    """`SST-2 test accuracy 83.5`, or `Tatoeba test BLEU` and a line for each direction."""
    tests = {f"{score.test} {score.metric}": score.direction for score in scores}
    for test, direction in tests.items():
        values = [one for one in scores if f"{one.test} {one.metric}" == test]
        if not direction:
            yield f"{test} {values[0].value:.1f}"
            continue
        yield test
        yield from (f"{one.direction} {one.value:.1f}" for one in values)


def markdown(card: Card, size: int) -> str:
    """The card as the README of a model's folder."""
    return "\n".join(_lines(card, size)) + "\n"


def _lines(card: Card, size: int) -> Iterator[str]:
    yield from (f"# {card.name}", "", card.title + ".", "", "| | |", "|---|---|")
    facts = {
        "task": card.task,
        "languages": ", ".join(card.directions or card.languages),
        "licence": card.licence,
        "date": card.date.isoformat(),
        "parameters": f"{card.parameters:,}",
        "weights": f"{card.weights}, {size / MIB:.1f} MiB",
        "made by": f"`{card.command}`",
    }
    yield from (f"| {name} | {_cell(value)} |" for name, value in facts.items())
    yield from ("", "## Scores", "", "| test | direction | metric | score | signature |")
    yield "|---|---|---|---:|---|"
    for score in card.scores:
        signature = _cell(f"`{score.signature}`")
        cells = (score.test, score.direction or "-", score.metric, f"{score.value:.2f}", signature)
        yield f"| {' | '.join(cells)} |"
    yield from ("", "## Learned from", "", "| source | licence | examples |", "|---|---|---:|")
    for source in card.sources:
        name = f"[{source.name}]({source.url})" if source.url else source.name
        count = f"{source.examples:,}" if source.examples else ""
        yield f"| {_cell(name)} | {_cell(source.licence)} | {count} |"
    yield from ("", "## Limits", "", *(f"- {limit}" for limit in card.limits))
    if card.worst:
        yield from ("", "## The worst of a hundred answers that were read", "")
        yield from ("| direction | asked | answered | what is wrong |", "|---|---|---|---|")
        for one in card.worst:
            row = (one.direction or "-", one.source, one.answer, one.wrong)
            yield f"| {' | '.join(map(_cell, row))} |"
    yield from ("", "## Use", "", "```", *_usage(card), "```")


def _usage(card: Card) -> Iterator[str]:
    verb = COMMANDS.get(card.task, "predict")
    if card.is_shown:  # a picture or a sound that lies beside the card
        yield f"regard look {card.name}"
        yield f"regard {verb} {card.name} my{card.example.removeprefix('example')}"
        return
    target = f" --to {card.directions[0].partition('-')[2]}" if card.directions else ""
    yield f'regard {verb} "{card.example}"{target}'
    yield f'regard look {card.name} "{card.example}"{target}'


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
