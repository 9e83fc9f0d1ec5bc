"""What training looks like at one moment: how far, how good, and where it looks.

It is drawn anew each time, as large as the console is then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from regard.show import heatmap
from regard.show.colour import BLOCKS
from regard.show.label import isolated, one_line, shortened
from regard.show.moment import Moment, told
from regard.traces.trace import Trace

CURVE_WIDTH, CURVE_HEIGHT = 40, 4
EVALUATIONS = 5  # shown at a time
METRICS = 3
COLOUR = "cyan"
GAP = 4  # cells between what stands side by side
TITLE = "where it looks"
FEWEST_ROWS = 3  # of a map; fewer show nothing


@final
@dataclass(frozen=True)
class Dashboard:
    """A moment, drawn; the attention map takes the lines that are left, beside the numbers or below."""

    moment: Moment

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        top = Group(*self._top(options.max_width))
        yield top
        left = console.height - _lines(console, options, top)
        numbers = [part for part in (loss_curve(self.moment), scores(self.moment)) if part]
        if self.moment.trace is None:
            yield Group(*_fitting(numbers, left, console, options))
            return
        drawn = _map(self.moment.trace, console, options, left)
        beside = options.max_width - GAP - Measurement.get(console, options, drawn).maximum
        if all(Measurement.get(console, options, one).maximum <= beside for one in numbers):
            yield _side_by_side(Group(*_fitting(numbers, left, console, options)), drawn)
        else:
            left -= _lines(console, options, drawn) + 1
            yield Group(drawn, Text(), *_fitting(numbers, left, console, options))

    def _top(self, width: int) -> Iterator[RenderableType]:
        """Two lines that say how far, and the watched sentence."""
        moment, step = self.moment, self.moment.step
        bar = Table.grid(padding=(0, 2), expand=True)
        bar.add_column(no_wrap=True)
        bar.add_column(ratio=1)
        bar.add_column(no_wrap=True, justify="right")
        bar.add_row(
            Text(f"step {step:,} of {moment.steps:,}"),
            ProgressBar(moment.steps, step, complete_style=COLOUR, finished_style=COLOUR),
            Text(moment.time_left()),
        )
        yield bar
        line = _doing(moment)
        if line:
            yield Text(shortened(line, width), style="dim")
        if moment.trace is not None:
            yield Text()
            yield watched(moment, width)
        yield Text()


def _doing(moment: Moment) -> str:
    """What goes on: held-out examples are judged, or steps are taken."""
    if moment.judging is not None:
        done, total = moment.judging
        return f"trying the model on held-out examples: {done:,} of {total:,}"
    return "" if moment.report is None else told(moment.report, moment.smoothing)


def loss_curve(moment: Moment) -> RenderableType | None:
    """The loss from the first step to now, its highest and its lowest value beside it."""
    losses = thinned(moment.losses, CURVE_WIDTH)
    if len(losses) < 2:
        return None
    low, high = f"{min(losses):.2f}", f"{max(losses):.2f}"
    picture = Table.grid(padding=(0, 1))
    picture.add_column(justify="right", style="dim", no_wrap=True)
    picture.add_column(no_wrap=True)
    lines = curve(losses, CURVE_HEIGHT)
    for line, label in zip(lines, (high, *[""] * (CURVE_HEIGHT - 2), low), strict=True):
        picture.add_row(label, Text(line, style=COLOUR))
    how = f", with label smoothing {moment.smoothing:g}" if moment.smoothing else ""
    return Group(Text(f"loss in training{how}", style="bold"), picture, Text())


def scores(moment: Moment) -> RenderableType | None:
    """The last evaluations and the best, which is marked."""
    if not moment.evaluations:
        return None
    recent = moment.evaluations[-EVALUATIONS:]
    if moment.best is not None and moment.best not in recent:
        recent = [moment.best, *recent[1:]]
    title = "held out, without smoothing" if moment.smoothing else "held out"
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    names = [metric.name for metric in recent[-1].metrics[:METRICS]]
    for name in ("step", "loss", *names):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    for one in recent:
        is_best = one is moment.best
        values = [f"{metric.value:.1f}" for metric in one.metrics[:METRICS]]
        table.add_row(
            f"{one.step:,}",
            f"{one.loss:.3f}",
            *values,
            "best" if is_best else "",
            style="bold" if is_best else "",
        )
    return Group(Text(title, style="bold"), table)


def watched(moment: Moment, width: int) -> RenderableType:
    """The sentence, what the model answers now, and what is expected."""
    assert moment.trace is not None
    answer = moment.trace.answer.text
    is_right = answer == moment.right
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    for name, text in (
        ("question", moment.question),
        ("answer", answer),
        ("expected", moment.right),
    ):
        line = isolated(shortened(one_line(text), max(1, width - 12)))
        right = name == "answer" and is_right
        table.add_row(name, Text(f"{line} ✓", style="green") if right else Text(line))
    return table


def _map(trace: Trace, console: Console, options: ConsoleOptions, left: int) -> RenderableType:
    """The whole map if it fits the lines that are left, or as many rows as do."""
    if not trace.sites:
        return Text("this model has no attention to look at", style="dim")
    rows = len(trace.site().weights[0])
    whole = heatmap.site_map(trace, title=TITLE, top=1.0, wrap=False)
    over = _lines(console, options, whole) - left
    if over <= 0:
        return whole
    fitting = rows - over - 1  # one more line says what was left out
    if fitting < FEWEST_ROWS:
        return Text("a taller window shows where it looks", style="dim")
    return heatmap.site_map(trace, title=TITLE, top=1.0, wrap=False, most_rows=fitting)


def _fitting(
    parts: list[RenderableType], left: int, console: Console, options: ConsoleOptions
) -> list[RenderableType]:
    """The last parts, as many as the lines that are left can hold."""
    while parts and _lines(console, options, Group(*parts)) > left:
        parts = parts[1:]
    return parts


def _lines(console: Console, options: ConsoleOptions, part: RenderableType) -> int:
    return len(console.render_lines(part, options, pad=False))


def _side_by_side(left: RenderableType, right: RenderableType) -> RenderableType:
    table = Table.grid(padding=(0, GAP, 0, 0))
    table.add_row(left, right)
    return table


# Numbers over time, drawn with blocks that are filled from below.

EIGHTHS = len(BLOCKS) - 1


def thinned(values: Sequence[float], width: int) -> list[float]:
    """At most `width` values in their order: where there are more, means of neighbours."""
    finite = [value for value in values if math.isfinite(value)]
    count = min(width, len(finite))
    cuts = [len(finite) * number // count for number in range(count + 1)] if count else []
    return [math.fsum(finite[start:stop]) / (stop - start) for start, stop in pairwise(cuts)]


def curve(values: Sequence[float], height: int = 1) -> list[str]:
    """The lines of a picture, a column a value.

    The lowest value still has the thinnest block, so that every place in time is seen.
    """
    low, high = min(values, default=0.0), max(values, default=0.0)
    spread = high - low or 1.0
    tall = [1 + round((value - low) / spread * (height * EIGHTHS - 1)) for value in values]
    return ["".join(_block(one, floor) for one in tall) for floor in reversed(range(height))]


def _block(tall: int, floor: int) -> str:
    return BLOCKS[min(max(tall - floor * EIGHTHS, 0), EIGHTHS)]
