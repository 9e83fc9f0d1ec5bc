"""Data before training: the built-in toys, and what a vocabulary and a batch plan make of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.data.example import counted
from regard.data.toys import Toy
from regard.show.label import isolated, one_line, shortened
from regard.tasks.names import task_for

if TYPE_CHECKING:
    from regard.training.preview import Preview

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
    lines = [
        Text(toy.title, style="bold"),
        Text(toy.story),
        Text(),
        *(Text(f"  {example.line()}") for example in toy.examples("train", ROWS)),
        Text(f"  {toy.probe.line()}  (watched while learning)"),
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
