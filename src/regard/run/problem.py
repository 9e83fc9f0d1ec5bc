"""What a pointer is asked in Python, as the text that it reads: `[0.3, 0.1]` is `0.3 0.1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Problem: TypeAlias = Sequence[float] | Sequence[Sequence[float]]


def written(problems: Any, features: int) -> str | list[str]:
    """Problems as text; how deep the lists are says whether it is one problem or several."""
    if isinstance(problems, str):
        return problems
    rows = list(problems)
    if rows and all(_is_item(row, features) for row in rows):
        return _written(rows)
    return [row if isinstance(row, str) else _written(row) for row in rows]


def _is_item(row: Any, features: int) -> bool:
    """A number; where items have several numbers, a few of them."""
    if features == 1:
        return not isinstance(row, Sequence)
    return isinstance(row, Sequence) and not any(isinstance(part, Sequence) for part in row)


def _written(items: Sequence[Any]) -> str:
    parts = [item if isinstance(item, Sequence) else (item,) for item in items]
    return " ".join(",".join(repr(float(number)) for number in part) for part in parts)
