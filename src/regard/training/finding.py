"""What a check came to: right, wrong with a remedy, or only worth knowing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, final

State = Literal["right", "wrong", "note"]


@final
@dataclass(frozen=True)
class Finding:
    """`name` is what was looked at, `told` one sentence about it, `remedy` what to do."""

    name: str
    state: State
    told: str
    remedy: str = ""

    @classmethod
    def of(cls, name: str, good: bool, told: str, remedy: str = "") -> Finding:
        """A check that came out one way or the other; only a wrong one needs a remedy."""
        return cls(name, "right" if good else "wrong", told, "" if good else remedy)

    @property
    def mark(self) -> str:
        """For people in a hurry."""
        return {"right": "✓", "wrong": "✗", "note": "·"}[self.state]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
