"""A comparison in which every model was trained by several seeds: means with intervals, in one table.

A mean over n seeds has the 95% interval mean +- t s / sqrt(n), with s the deviation between the seeds and t
Student's quantile for n - 1. Models that share their seeds are set against the first one seed by seed, so
that what a seed does to both is no part of the difference.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, final

from regard.run import files
from regard.training.compare_runs import Row, Table

# Student's t for 95%, both sides, with 1, 2, .. degrees of freedom (Student 1908).
T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)


@final
@dataclass(frozen=True)
class Spread:
    """The mean of a number over seeds, and half of its 95% interval; NaN where one seed cannot tell it."""

    mean: float
    half: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of what each seed gave."""
        if not values:
            return cls(math.nan, math.nan, 0)
        if len(values) == 1:
            return cls(values[0], math.nan, 1)
        half = T[len(values) - 2] * stdev(values) / math.sqrt(len(values))
        return cls(fmean(values), half, len(values))

    def shown(self, digits: int = 2, sign: str = "") -> str:
        """`41.20 ± 0.90`."""
        if not self.count:
            return "–"
        mean = f"{self.mean:{sign}.{digits}f}"
        return mean if math.isnan(self.half) else f"{mean} ± {self.half:.{digits}f}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON, which knows no NaN."""
        mean, half = (None if math.isnan(one) else one for one in (self.mean, self.half))
        return {"mean": mean, "half_interval": half, "seeds": self.count}


@final
@dataclass(frozen=True)
class Repeated:
    """One model by all its seeds; `difference` is that of the first metric to the first model."""

    name: str
    parameters: int
    loss: Spread
    metrics: Mapping[str, Spread]
    difference: Spread
    faults: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "parameters": self.parameters,
            "loss": self.loss.as_dict(),
            "metrics": {name: one.as_dict() for name, one in self.metrics.items()},
            "difference": self.difference.as_dict(),
            "faults": list(self.faults),
        }


@final
@dataclass(frozen=True)
class Repeats:
    """All models by all their seeds, the first of which the others are set against."""

    test: str
    count: int
    seeds: int
    rows: tuple[Repeated, ...]
    signatures: tuple[str, ...]

    starred = frozenset[str]()  # a mean beside an interval needs no star

    @classmethod
    def of(cls, table: Table, groups: Mapping[str, Sequence[str]]) -> Repeats:
        """From the table of all runs, and which runs are of one model."""
        runs = {row.name: row for row in table.rows}
        grouped = {name: [runs[one] for one in names] for name, names in groups.items()}
        first = next(iter(grouped.values()))
        rows = tuple(_repeated(name, own, first) for name, own in grouped.items())
        known = next((row.metrics for row in table.rows if row.metrics), ())
        signatures = tuple(f"{metric['name']}: {metric['signature']}" for metric in known)
        return cls(table.test, table.count, max(map(len, groups.values())), rows, signatures)

    def cells(self) -> list[tuple[str, ...]]:
        """Headings, then a row each, for a terminal or Markdown."""
        names = list(next((row.metrics for row in self.rows if row.metrics), {}))
        difference = f"{names[0]}, difference" if names else "difference"
        head = ("", "variant", "parameters", "held-out loss", *names, difference)
        return [head, *(self._row(row, names) for row in self.rows)]

    def _row(self, row: Repeated, names: Sequence[str]) -> tuple[str, ...]:
        if not row.loss.count:
            return ("✗", row.name, *["–"] * (3 + len(names)))
        return (
            "",
            row.name if not row.faults else f"{row.name} ({row.loss.count} of {self.seeds} seeds)",
            f"{row.parameters:,}",
            row.loss.shown(4),
            *(row.metrics[name].shown() for name in names),
            "" if row is self.rows[0] else row.difference.shown(sign="+"),
        )

    def notes(self) -> Iterator[str]:
        """What the numbers are about."""
        yield f"{self.count:,} {self.test}; each model was trained by {self.seeds} seeds."
        if self.seeds > 1:
            yield (
                "±: half of the 95% interval of a mean over seeds, by Student's t. The difference is that "
                f"to {self.rows[0].name}, seed by seed; where its interval holds 0, it may well be luck."
            )
        for row in self.rows:
            yield from (f"{row.name}: {fault}" for fault in row.faults)
        yield from self.signatures

    def markdown(self) -> str:
        """For a README or a report."""
        head, *rows = self.cells()
        rule = ("---", "---", *["---:"] * (len(head) - 2))
        lines = [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes())]) + "\n"

    def write(self, folder: Path) -> None:
        """Beside the table of all runs."""
        files.write_atomic(folder / "seeds.json", json.dumps(self.as_dict(), indent=1).encode())
        files.write_atomic(folder / "seeds.md", self.markdown().encode())

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = [row.as_dict() for row in self.rows]
        return {"test": self.test, "count": self.count, "seeds": self.seeds, "rows": rows}


def _repeated(name: str, own: Sequence[Row], first: Sequence[Row]) -> Repeated:
    done = [row for row in own if not row.fault]
    names = [metric["name"] for metric in done[0].metrics] if done else []
    metrics = {
        metric: Spread.of([value for row in done if (value := _value(row, number)) is not None])
        for number, metric in enumerate(names)
    }
    pairs = [
        (_value(row, 0), _value(other, 0))
        for row, other in zip(own, first, strict=True)
        if not row.fault and not other.fault
    ]
    apart = [ours - theirs for ours, theirs in pairs if ours is not None and theirs is not None]
    return Repeated(
        name,
        done[0].parameters if done else 0,
        Spread.of([row.loss for row in done]),
        metrics,
        Spread.of(apart),
        tuple(row.fault for row in own if row.fault),
    )


def _value(row: Row, number: int) -> float | None:
    value = row.metrics[number]["value"]
    return None if value is None else float(value)
