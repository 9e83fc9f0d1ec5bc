"""The table of a comparison: a row a model, the best one marked, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final


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
    def from_dict(cls, found: Mapping[str, Any]) -> Row:
        """What `asdict` gave."""
        return cls(**{**found, "metrics": tuple(found["metrics"])})

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
