"""Cards of models that travel: as a table of the box, and one of them in full as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box as lines
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from regard.box.card import Card, Score
from regard.tasks.names import COMMANDS

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
    yield from ("", "## Use", "", "```", *_usage(card), "```")


def _usage(card: Card) -> Iterator[str]:
    verb = COMMANDS.get(card.task, "predict")
    target = f" --to {card.directions[0].partition('-')[2]}" if card.directions else ""
    yield f'regard {verb} "{card.example}"{target}'
    yield f'regard look {card.name} "{card.example}"{target}'


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
