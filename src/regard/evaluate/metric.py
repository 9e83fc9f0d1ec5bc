"""A number that says how it was made: every measure of this room comes back as a `Metric`.

All values are on the scale papers print, 0 to 100 (an error rate can pass 100). A metric has no
meaning without its signature, so there is no way to make one without it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from regard.errors import DataError


@final
@dataclass(frozen=True)
class Metric:
    """`BLEU 41.02 [40.1, 41.9] (nrefs:1|case:lc|...)`: value, 95% interval, and how to repeat it."""

    name: str
    value: float
    signature: str
    interval: tuple[float, float] | None = None
    higher_is_better: bool = True

    def __post_init__(self) -> None:
        assert self.signature, f"{self.name} without a signature cannot be compared with anything"

    def __str__(self) -> str:
        value = f"{self.value:.2f}" if math.isfinite(self.value) else "undefined"
        interval = "[{:.1f}, {:.1f}] ".format(*self.interval) if self.interval else ""
        return f"{self.name} {value} {interval}({self.signature})"

    def as_dict(self) -> dict[str, object]:
        """The metric as JSON can hold it; what is not finite becomes null."""
        return {
            "name": self.name,
            "value": _finite(self.value),
            "interval": [_finite(end) for end in self.interval] if self.interval else None,
            "signature": self.signature,
            "higher_is_better": self.higher_is_better,
        }


def require_parallel(
    predicted: Sequence[Any], gold: Sequence[Any], names: str = "predictions and references"
) -> None:
    """Two lists that are compared item by item have the same length, and something in them."""
    first, _, second = names.partition(" and ")
    counts = f"{len(predicted)} {first}, {len(gold)} {second}"
    if len(predicted) != len(gold):
        raise DataError(
            f"{names} do not pair up: {counts}",
            remedy="give one prediction for each reference, in the same order",
            where=names,
        )
    if not predicted:
        raise DataError(
            f"there is nothing to compare: {counts}", remedy="give at least one pair", where=names
        )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
