"""What is compiled, and what the compiler is spared: a message that takes longer than its code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from regard.models import Model, RnnDecoder


def compiled(learner: nn.Module, model: Model, shapes: int, *, recorded: bool) -> nn.Module:
    """One function for all batches, unless a recurrent decoder is recorded, or waits for its own last step.

    A call of a compiled function for each of its steps costs more than it saves a GPU; recordings make none.
    """
    reader = model.reader
    if isinstance(reader, RnnDecoder) and (recorded or reader.is_stepwise):
        if not next(model.parameters()).is_cuda:
            reader.compile_steps()
        return learner
    shorten_messages()
    return torch.compile(learner, dynamic=shapes > 1)  # type: ignore[return-value]


def shorten_messages() -> None:
    """An operator that the compiler only calls is named, not drawn with all that it was fed by.

    Torch 2.11 writes that drawing for a log which nobody reads, and it doubles with every sum that goes two
    ways: six layers of ours would take it hours. Later ones write it when somebody asks.
    """
    from torch._inductor.exc import OperatorIssue

    OperatorIssue.operator_str = staticmethod(_named)  # type: ignore[assignment, method-assign]


def _named(target: Any, fed: Sequence[Any], also: Mapping[str, Any]) -> str:
    return f"{target} of {len(fed) + len(also)} arguments"
