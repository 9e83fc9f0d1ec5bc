"""Several models learn from the same data, answer the same test, and stand in one table."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, final

from regard.answer.predictor import Predictor
from regard.answer.test_set import Exam, perplexity
from regard.errors import DivergedError, MemoryLimitError, RegardError, UsageError
from regard.models import count_parameters
from regard.run import files
from regard.run.corpus import Corpus
from regard.run.folder import Run
from regard.run.load import refuse_unbuildable
from regard.run.resolve import Variant
from regard.run.settings import RunSettings
from regard.signals import Stopped
from regard.strict_json import loads
from regard.tasks import Task
from regard.training import train
from regard.training.events import Listener


@final
@dataclass(frozen=True)
class Row:
    """One model; `fault` says why it has no numbers."""

    name: str
    parameters: int = 0
    best_step: int = 0
    loss: float = math.nan
    metrics: tuple[Mapping[str, Any], ...] = ()
    seconds: float = 0.0
    fault: str = ""

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Row:
        """What `asdict` gave."""
        return cls(**{**tree, "metrics": tuple(tree["metrics"])})

    @property
    def rank(self) -> tuple[float, float]:
        """Smaller is better: by the first metric, then by the loss."""
        first = self.metrics[0]
        if first["value"] is None:
            return math.inf, self.loss
        return (-first["value"] if first["higher_is_better"] else first["value"], self.loss)

    @property
    def shown(self) -> str:
        """The first metric as a reader sees it."""
        return _shown(self.metrics[0]["value"])


def best_of(rows: Sequence[Row]) -> str:
    """The name of the best row that finished."""
    return min((row for row in rows if not row.fault), key=lambda row: row.rank).name


@final
@dataclass(frozen=True)
class Table:
    """`chances` has, against the best, how often chance alone would make such a difference.

    `best` comes first by the first metric, then by the loss; a star needs a difference that a reader sees.
    """

    test: str
    count: int
    best: str
    rows: tuple[Row, ...]
    chances: Mapping[str, float]

    @property
    def starred(self) -> frozenset[str]:
        """All whose first metric shows as the best one's does; nobody, where that is everybody."""
        finished = {row.name: row.shown for row in self.rows if not row.fault}
        stars = frozenset(name for name, shown in finished.items() if shown == finished[self.best])
        return frozenset() if 1 < len(stars) == len(finished) else stars

    def cells(self) -> list[tuple[str, ...]]:
        """Headings, then a row each, for a terminal or Markdown."""
        names = next(([m["name"] for m in row.metrics] for row in self.rows if row.metrics), [])
        headings = ["", "variant", "parameters", "best step", "held-out loss", *names]
        if self.chances:
            headings.append("p")
        return [(*headings, "time"), *(self._row(row, len(names)) for row in self.rows)]

    def _row(self, row: Row, metrics: int) -> tuple[str, ...]:
        if row.fault:
            return ("✗", row.name, *["–"] * (4 + metrics + bool(self.chances)))
        chance = self.chances.get(row.name)
        shown = "" if chance is None else f"{chance:.3f}"
        return (
            "★" if row.name in self.starred else "",
            row.name,
            f"{row.parameters:,}",
            f"{row.best_step:,}",
            f"{row.loss:.4f}",
            *(_shown(metric["value"]) for metric in row.metrics),
            *([shown] if self.chances else []),
            f"{row.seconds:,.0f} s",
        )

    def notes(self) -> Iterator[str]:
        """What the numbers are about."""
        ahead = "★ is the best" if self.starred else "no model is ahead of the others"
        yield f"{self.count:,} {self.test}; {ahead}."
        if self.chances:
            yield (
                f"p: how often chance alone would set a model as far from {self.best} (a paired test); "
                "above 0.05 it may well be luck."
            )
        yield from (f"{row.name}: {row.fault}" for row in self.rows if row.fault)
        for metric in next((row.metrics for row in self.rows if row.metrics), ()):
            yield f"{metric['name']}: {metric['signature']}"

    def markdown(self) -> str:
        """For a README or a report."""
        head, *rows = [[cell.replace("|", "\\|") for cell in row] for row in self.cells()]
        rule = ["---", "---", *["---:"] * (len(head) - 2)]
        lines = [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes())]) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = [
            {**asdict(row), "loss": None if math.isnan(row.loss) else row.loss} for row in self.rows
        ]
        return {
            "test": self.test,
            "count": self.count,
            "best": self.best if self.starred else None,
            "rows": rows,
            "p_values": dict(self.chances),
        }


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


# Several models learn from the same data, answer the same test, and stand in one table.
# Every variant is a run of its own below one folder. What is finished is not done again, so a comparison
# that was killed goes on when it is asked for again.

MOST_ASKED = 5_000  # more would not change the order, and beam search takes its time
ANSWERS = "comparison.json"

Tell = Callable[[int, Variant], Listener]  # (its number, the variant that is now trained)


def _refuse_unbuildable(variant: Variant) -> None:
    """Which of them it is, before the first is trained."""
    try:
        refuse_unbuildable(variant.settings)
    except UsageError as fault:
        what = f"{variant.name} cannot be built: {fault.what}"
        raise UsageError(what, fault.where, fault.remedy) from None


@final
@dataclass(frozen=True)
class Judged:
    """A row of the table, and the answers behind it; or the fault that left them out."""

    row: Row
    answers: tuple[str, ...] = field(repr=False, default=())
    fault: RegardError | None = None


def compare(
    out: Path, variants: Sequence[Variant], device: str = "auto", tell: Tell | None = None
) -> Table:
    """Train what is not trained, ask what was not asked, and write the table into the folder."""
    if not variants:
        raise UsageError("there is nothing to compare", where="variants", remedy="give two or more")
    _refuse_unlike(variants)
    for variant in variants:
        _refuse_unbuildable(variant)
    if (out / "config.toml").exists():
        raise UsageError("this folder is a run", where=str(out), remedy="choose another folder")
    exam = Exam.of(variants[0].settings, MOST_ASKED)
    comparisons = []
    for number, variant in enumerate(variants):
        mark = _mark(variant.settings, exam)
        judged = _known(out / variant.name, mark)
        if judged is None:
            listener = Listener() if tell is None else tell(number, variant)
            judged = _judge(out / variant.name, variant, exam, device, listener)
            if judged.fault is None:
                _keep(out / variant.name, mark, judged)
        comparisons.append(judged)
    if all(judged.fault for judged in comparisons):
        raise comparisons[0].fault  # type: ignore[misc]
    done = next(judged.row.name for judged in comparisons if judged.fault is None)
    table = _table(comparisons, Run.open(out / done).task, exam)
    files.write_atomic(out / "table.json", json.dumps(table.as_dict(), indent=1).encode())
    files.write_atomic(out / "table.md", table.markdown().encode())
    return table


def _judge(folder: Path, variant: Variant, exam: Exam, device: str, listener: Listener) -> Judged:
    """Train a variant, or go on with it, and ask it. One that fails leaves the others their turn."""
    try:
        outcome = train(folder, variant.settings, listener, device)
        if outcome.signal is not None:
            raise Stopped(outcome.signal)
        return _asked(folder, exam, device, listener)
    except (DivergedError, MemoryLimitError) as fault:
        return Judged(Row(variant.name, fault=fault.what), fault=fault)


def _asked(folder: Path, exam: Exam, device: str, listener: Listener) -> Judged:
    """The model's answers, by the search its settings name, and what they are worth."""
    predictor = Predictor.load(folder, device, note=listener.noted)
    run, task = predictor.run, predictor.run.task
    predictions = predictor.predict(exam.questions(task), truncate=True)
    answers = [one.text for one in predictions]
    metrics = task.judge(answers, exam.answers(task))
    metrics += task.beside(exam.questions(task), answers, exam.answers(task))
    if task.decided_by == "perplexity":
        metrics.insert(0, perplexity(task, predictor.model, exam.examples))
    entries = run.recorded("metrics")
    best = [entry for entry in entries if entry["kind"] == "valid" and entry["is_best"]][-1]
    row = Row(
        folder.name,
        parameters=count_parameters(predictor.model),
        best_step=best["step"],
        loss=best["loss"],
        metrics=tuple(metric.as_dict() for metric in metrics),
        seconds=_seconds(entries),
    )
    return Judged(row, tuple(answers))


def _seconds(entries: Sequence[Mapping[str, Any]]) -> float:
    """Time spent learning; each process that went on began to count at 0."""
    total, last = 0.0, 0.0
    for entry in entries:
        if entry["kind"] == "train":
            total += last if entry["seconds"] < last else 0.0
            last = entry["seconds"]
    return total + last


def _mark(settings: RunSettings, exam: Exam) -> str:
    """All that a result depends on, in a few letters."""
    corpus = Corpus.of(settings.data, settings.task)
    parts = (settings.model_dump_json(), corpus.fingerprint, repr(exam.examples))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _keep(folder: Path, mark: str, judged: Judged) -> None:
    document = {"mark": mark, "row": asdict(judged.row), "answers": judged.answers}
    files.write_atomic(folder / ANSWERS, json.dumps(document, allow_nan=False).encode())


def _known(folder: Path, mark: str) -> Judged | None:
    """What was found before, if it was about these settings, this data and this exam."""
    try:
        document = loads((folder / ANSWERS).read_bytes(), max_bytes=1 << 28)
        if document["mark"] != mark:
            return None
        return Judged(Row.from_dict(document["row"]), tuple(document["answers"]))
    except (FileNotFoundError, RegardError, KeyError, TypeError):
        return None


def _table(found: Sequence[Judged], task: Task, exam: Exam) -> Table:
    rows = tuple(judged.row for judged in found)
    best = best_of(rows)
    winner = next(judged for judged in found if judged.row.name == best)
    chances: dict[str, float] = {}
    for judged in found:
        if judged.answers and judged is not winner and task.decided_by == "answers":
            luck, *_ = task.compare(judged.answers, winner.answers, exam.answers(task))
            chances[judged.row.name] = luck.p_value
    return Table(exam.name, len(exam.examples), best, rows, chances)


def _refuse_unlike(variants: Sequence[Variant]) -> None:
    """Only what learns from the same, and answers the same, can be compared."""
    first = variants[0]
    for variant in variants[1:]:
        ours, theirs = (
            {
                "task": one.settings.task,
                **one.settings.data.model_dump(exclude={"examples", "vectors"}),
            }
            for one in (first, variant)
        )
        unlike = [
            f"{key} {ours[key]} and {theirs[key]}" for key in ours if ours[key] != theirs[key]
        ]
        if unlike:
            raise UsageError(
                f"{first.name} and {variant.name} do not learn the same: {', '.join(unlike)}",
                remedy='name the data for all: toy="reverse", or files',
                where="compare",
            )
