"""What reading kept and what it left out. Nothing vanishes uncounted: how often, why, and where first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from regard.errors import DataError


@final
@dataclass
class Tally:
    """Filled while examples are read; one reading, one tally."""

    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def drop(self, reason: str, path: Path, line: int) -> None:
        """Count one example that is left out."""
        self.dropped[reason] += 1
        self.first.setdefault(reason, f"{path}:{line}")

    @property
    def total(self) -> int:
        """How many were met, kept or not."""
        return self.kept + self.dropped.total()


def require_some(kept: int, dropped: Mapping[str, int], noun: str, where: str) -> None:
    """Refuse to go on with nothing: `0 of 1,000 pairs left: 812 too long, 188 empty`."""
    if kept:
        return
    if not sum(dropped.values()):
        raise DataError(f"there is not one {noun} here", where=where, remedy="is the file empty?")
    reasons = sorted(dropped.items(), key=lambda item: (-item[1], item[0]))
    raise DataError(
        f"0 of {sum(dropped.values()):,} {noun}s left: "
        + ", ".join(f"{count:,} {reason}" for reason, count in reasons if count),
        where=where,
        remedy="mend the data, or allow longer examples if they are too long",
    )


def counted(count: int, noun: str) -> str:
    """`29,000 pairs`, `1 pair`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
