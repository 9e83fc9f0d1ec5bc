"""What the compiler is spared: a message that would take longer to write than all its code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def shorten_messages() -> None:
    """An operator that the compiler only calls is named, not drawn with all that it was fed by.

    Torch 2.11 writes that drawing for a log which nobody reads, and it doubles with every sum that goes two
    ways: six layers of ours would take it hours. Later ones write it when somebody asks.
    """
    from torch._inductor.exc import OperatorIssue

    OperatorIssue.operator_str = staticmethod(_named)  # type: ignore[assignment, method-assign]


def _named(target: Any, fed: Sequence[Any], also: Mapping[str, Any]) -> str:
    return f"{target} of {len(fed) + len(also)} arguments"
