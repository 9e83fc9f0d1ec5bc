"""Training as it is told: to a person who watches, to a file of plain lines, to a program as JSON."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping
from io import TextIOBase
from types import TracebackType
from typing import Any, final

from rich.console import Console, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from regard.data.check import Report
from regard.run.folder import Run
from regard.show import heatmap
from regard.show.dashboard import Dashboard
from regard.show.label import one_line
from regard.show.moment import Moment, facts_of, judged, recall, told
from regard.show.report import data_report
from regard.traces.trace import Trace
from regard.training.events import Evaluated, Listener, Outcome, Stepped

MOVE = 0.5  # seconds between two pictures: drawing one takes some of the time that training wants
EVERY = 5.0  # seconds between two lines where nobody watches
SLOW = 30.0  # seconds after which a line comes though no loss is known yet


@final
class TrainingProgress(Listener):
    """A picture that moves in a terminal, plain lines anywhere else.

    `watch_sample` adds the first fixed sentence: what the model answers, and where it looks for it. Used
    with `with`, the terminal is left in order however training ends.
    """

    def __init__(self, console: Console | None = None, *, watch_sample: bool = False) -> None:
        self.console = console or Console(stderr=True)
        self.watch_sample = watch_sample
        self.moment: Moment | None = None
        self._live: Live | None = None
        self._prepared = ""
        self._told = self._heard = self._judged = -math.inf
        self._moves = self.console.is_terminal and not self.console.is_dumb_terminal

    def __enter__(self) -> TrainingProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the last picture standing, and the cursor below it."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def preparing(self, what: str, done: int) -> None:
        """Vocabulary and data, before the first step."""
        if self._moves:
            self._draw(Text(f"{what}: {done:,}", style="dim"))
        elif what != self._prepared:
            self._say(what)
        self._prepared = what

    def examined(self, report: Report) -> None:
        """What was understood of the files, three rows of them, and warnings."""
        if self._moves:
            self._draw(Text())
            self.console.print(data_report(report), Text())
        else:
            for line in report.summary().split("\n"):
                self._say(one_line(line))

    def began(self, run: Run, facts: Mapping[str, Any]) -> None:
        """Say what was found, then begin to draw."""
        train = run.settings.train
        bounded = train.epochs is not None or train.patience is not None
        smoothing = run.settings.objective.smoothing
        self.moment = Moment(facts["steps"], facts["step"], bounded, smoothing=smoothing)
        if facts["step"]:
            recall(self.moment, run)
        if self.watch_sample:
            self.moment.question, self.moment.right = next(iter(run.probes()), ("", ""))
        rows = list(facts_of(run, facts))
        if self._moves:
            self._draw(Text())
            self.console.print(_panel(run.folder.name, rows))
            self._redraw()
        else:
            for name, value in rows:
                self._say(f"{name}: {value}")

    def noted(self, message: str) -> None:
        """Something a person should read."""
        self._say(f"note: {one_line(message)}", "yellow")

    def advanced(self, step: int, seconds: float) -> None:
        """The bar moves with every step; where lines are written, a slow one is told by itself."""
        assert self.moment is not None
        self.moment.advance(step, seconds)
        if self._moves and seconds - self._told >= MOVE:
            self._told = seconds
            self._redraw()
        elif not self._moves and seconds - max(0.0, self._told, self._heard) >= SLOW:
            self._heard = seconds
            self._say(f"{self._how_far(step)}   {self.moment.time_left()}")

    def judging(self, done: int, total: int) -> None:
        """An evaluation is seen to move, too."""
        assert self.moment is not None
        self.moment.judging = done, total
        if self._moves and time.monotonic() - self._judged >= MOVE:
            self._judged = time.monotonic()
            self._redraw()

    def stepped(self, report: Stepped) -> None:
        """Some steps were taken."""
        assert self.moment is not None
        self.moment.advance(report.step, report.seconds)
        self.moment.report = report
        self.moment.losses.append(report.loss)
        is_last = report.step == self.moment.steps
        if not is_last and report.seconds - self._told < (MOVE if self._moves else EVERY):
            return
        self._told = report.seconds
        if self._moves:
            self._redraw()
        else:
            line = told(report, self.moment.smoothing)
            self._say(f"{self._how_far(report.step)}   {line}   {self.moment.time_left()}")

    def _how_far(self, step: int) -> str:
        assert self.moment is not None
        return f"step {step:,} of {self.moment.steps:,}"

    def evaluated(self, report: Evaluated) -> None:
        """Scores on what the model never saw."""
        assert self.moment is not None
        self.moment.judging = None
        self.moment.evaluations.append(report)
        if self._moves:
            self._redraw()
        else:
            mark = " (best so far)" if report.is_best else ""
            self._say(f"step {report.step:,} held out: {judged(report)}{mark}")

    def sampled(self, step: int, traces: list[Trace]) -> None:
        """The watched sentence, answered anew."""
        if not self.watch_sample or not traces:
            return
        assert self.moment is not None
        self.moment.trace = traces[0]
        if self._moves:
            self._redraw()
        else:
            self._say(f"step {step:,} answers: {one_line(traces[0].answer.text)}")

    def finished(self, outcome: Outcome) -> None:
        """How it ended, and the best it found."""
        assert self.moment is not None
        if self._moves:
            self._redraw()
        self.close()
        seen = self.moment.trace
        if not self._moves and seen is not None and seen.sites:
            self.console.print(heatmap.site_map(seen, top=1.0))
        best = next((e for e in self.moment.evaluations if e.step == outcome.best_step), None)
        gap = "\n" if self._moves else " "  # a terminal may be too narrow for one line
        note = f"; best at step {best.step:,}:{gap}{judged(best)}" if best is not None else ""
        self._say(f"\n{outcome.reason}{note}" if self._moves else f"{outcome.reason}{note}")

    def _say(self, line: str, style: str = "") -> None:
        self.console.print(Text(line.rstrip(), style), soft_wrap=not self._moves)

    def _redraw(self) -> None:
        assert self.moment is not None
        self._draw(Dashboard(self.moment))

    def _draw(self, picture: RenderableType) -> None:
        if self._live is None:
            self._live = Live(console=self.console, auto_refresh=False, vertical_overflow="crop")
            self._live.start()
        self._live.update(picture, refresh=True)


@final
class JsonProgress(Listener):
    """One object a line, flushed as it comes."""

    def __init__(self, file: TextIOBase | None = None) -> None:
        self._file = file
        self._prepared = ""
        self._probes: list[tuple[str, str]] = []

    def preparing(self, what: str, done: int) -> None:
        """Only what is new: counts come by the thousand."""
        if what != self._prepared:
            self._tell({"kind": "preparing", "what": what, "done": done})
        self._prepared = what

    def examined(self, report: Report) -> None:
        """As `regard data --json` has it."""
        self._tell({"kind": "data", **report.as_dict()})

    def began(self, run: Run, facts: Mapping[str, Any]) -> None:
        """What was found."""
        self._probes = run.probes()
        self._tell({"kind": "began", "folder": str(run.folder), "task": run.task.name, **facts})

    def noted(self, message: str) -> None:
        """Something a person should read."""
        self._tell({"kind": "note", "message": message})

    def stepped(self, report: Stepped) -> None:
        """As metrics.jsonl has it."""
        self._tell(report.as_dict())

    def evaluated(self, report: Evaluated) -> None:
        """As metrics.jsonl has it."""
        self._tell(report.as_dict())

    def sampled(self, step: int, traces: list[Trace]) -> None:
        """Questions and answers; their attention is in samples.jsonl."""
        samples = [
            {"question": question, "answer": seen.answer.text, "expected": right}
            for (question, right), seen in zip(self._probes, traces, strict=False)
        ]
        self._tell({"kind": "sample", "step": step, "samples": samples})

    def finished(self, outcome: Outcome) -> None:
        """How it ended."""
        self._tell({"kind": "finished", **outcome.__dict__})

    def _tell(self, entry: Mapping[str, Any]) -> None:
        text = json.dumps(_finite(entry), ensure_ascii=False, allow_nan=False)
        print(text, file=self._file or sys.stdout, flush=True)


def _panel(name: str, rows: list[tuple[str, str]]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for key, value in rows:
        table.add_row(key, Text(value))
    return Panel(table, title=Text(one_line(name)), title_align="left", expand=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return value
