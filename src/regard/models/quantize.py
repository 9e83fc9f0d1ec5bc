"""Weights in fewer bytes: half precision, or integers with one scale a row.

A matrix `name` is kept as `name` (int8) and `name:scale` (one float a row): row r is about scale[r] times the
integers of row r, none further off than half a scale. Vectors, which are few, keep their precision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from regard.errors import ModelFileError

Weights = Literal["float32", "float16", "int8"]

SCALE = ":scale"
LARGEST = 127  # -128 is left out, so that a number and its negative are equally far from 0


def to_rows(
    matrix: Float[Tensor, "rows columns"],
) -> tuple[Int8[Tensor, "rows columns"], Float[Tensor, " rows"]]:
    """Integers from -127 to 127, and what one of them is worth in each row."""
    largest = matrix.abs().amax(1) if matrix.shape[1] else matrix.new_zeros(len(matrix))
    scale = torch.where(largest > 0, largest, torch.ones_like(largest)).float() / LARGEST
    whole = (matrix / scale.unsqueeze(1)).round_().clamp_(-LARGEST, LARGEST)
    return whole.to(torch.int8), scale


def from_rows(
    whole: Int8[Tensor, "rows columns"], scale: Float[Tensor, " rows"]
) -> Float[Tensor, "rows columns"]:
    """The numbers that the whole ones stand for."""
    return whole * scale.unsqueeze(1)


def narrowed(state: Mapping[str, Tensor], weights: Weights) -> dict[str, Tensor]:
    """A model's tensors in fewer bytes; what shared memory still does, so that it is stored once."""
    done: dict[tuple[int, torch.Size], tuple[Tensor, ...]] = {}
    found: dict[str, Tensor] = {}
    for name, tensor in state.items():
        key = (tensor.data_ptr(), tensor.shape)
        if key not in done or not tensor.numel():
            done[key] = _narrow(tensor.detach(), weights)
        for ending, part in zip(("", SCALE), done[key], strict=False):
            found[name + ending] = part
    return found


def widened(state: Mapping[str, Tensor], where: str = "") -> dict[str, Tensor]:
    """The same tensors in float32 again, however each was narrowed; also where they have no memory."""
    done: dict[int, Tensor] = {}
    found: dict[str, Tensor] = {}
    for name, tensor in state.items():
        if name.endswith(SCALE) and _is_whole(state.get(name.removesuffix(SCALE))):
            continue
        if id(tensor) not in done:
            done[id(tensor)] = _wide(name, tensor, state.get(name + SCALE), where)
        found[name] = done[id(tensor)]
    return found


def _narrow(tensor: Tensor, weights: Weights) -> tuple[Tensor, ...]:
    if not tensor.is_floating_point() or weights == "float32":
        return (tensor,)
    if weights == "float16":
        half = tensor.half()
        return (half if half.isfinite().all() else tensor,)
    return to_rows(tensor) if tensor.dim() == 2 else (tensor,)


def _wide(name: str, tensor: Tensor, scale: Tensor | None, where: str) -> Tensor:
    if _is_whole(tensor) and scale is not None:
        if scale.shape != tensor.shape[:1] or scale.dtype != torch.float32:
            raise ModelFileError(
                f"{ascii(name)[:80]} has {len(tensor):,} rows and needs as many scales in float32, not "
                f"{str(scale.dtype).removeprefix('torch.')} {list(scale.shape)}",
                where,
                "take the weights from another copy",
            )
    elif tensor.dtype not in (torch.float16, torch.bfloat16):
        return tensor
    if tensor.is_meta:  # to multiply without memory torch loads more than most models are
        return torch.empty(tensor.shape, dtype=torch.float32, device="meta")
    return from_rows(tensor, scale) if _is_whole(tensor) and scale is not None else tensor.float()


def _is_whole(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.dtype == torch.int8 and tensor.dim() == 2
