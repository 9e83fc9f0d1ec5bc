"""Rows of different lengths in one nested tensor, as torch's fast path takes them: padded while watched."""

from __future__ import annotations

from typing import Any, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Given = tuple[tuple[Any, ...], dict[str, Any]]


def padded(rows: Tensor, axis: int = 0) -> tuple[Tensor, Tensor]:
    """Rows of equal length, and True where one was made longer; `axis` is the length's, of a single row."""
    parts = rows.unbind()
    lengths = torch.tensor([part.shape[axis] for part in parts], device=rows.device)
    longest = int(lengths.max()) if len(parts) else 0
    behind = (0, 0) * (parts[0].dim() - 1 - axis) if parts else ()
    filled = [F.pad(part, (*behind, 0, longest - part.shape[axis])) for part in parts]
    return torch.stack(filled), torch.arange(longest, device=rows.device) >= lengths[:, None]


@final
class Nested:
    """A nested tensor that a module of torch was given, put back into its output."""

    def __init__(self, rows: Tensor) -> None:
        self.lengths = [part.shape[0] for part in rows.unbind()]
        self.layout = rows.layout

    def restored(self, output: Any) -> Any:
        """The output with rows of their own lengths."""
        if isinstance(output, tuple):
            return (self.restored(output[0]), *output[1:])
        rows = [row[:length] for row, length in zip(output, self.lengths, strict=True)]
        return torch.nested.as_nested_tensor(rows, layout=self.layout)


def unnested(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Given | None:
    """What a module of torch is given, its nested states padded; None where there are none.

    Outside their fast path, which nobody can look into, these modules refuse nested tensors.
    """
    names: tuple[str, ...]
    if isinstance(module, nn.MultiheadAttention):
        names, mask = ("query", "key", "value"), "key_padding_mask"
    elif isinstance(module, nn.TransformerEncoder | nn.TransformerEncoderLayer):
        names, mask = ("src",), "src_key_padding_mask"
    else:
        return None
    meant = {**dict(zip(names, given, strict=False)), **named}
    states = [meant[name] for name in names if name in meant]
    if not states or not all(isinstance(one, Tensor) and one.is_nested for one in states):
        return None
    same = {id(one): padded(one) for one in states}
    for name in names:
        meant[name] = same[id(meant[name])][0]
    meant[mask] = same[id(states[1 if len(states) > 1 else 0])][1]
    return given[len(names) :], meant
