"""max(0, x W + b) as one operator, made for a GPU: the product's own last act adds the bias and bends.

What came out says where it bent, so that nothing else is kept for the way back.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.norm_op import LARGE

TYPES = (torch.bfloat16, torch.float16)
HAS_TRITON = find_spec("triton") is not None


def takes(states: Tensor, layer: nn.Linear) -> bool:
    """Whether the operator pays: for many numbers on a GPU, in half precision, with a gradient to come."""
    known = states.is_cuda and _type(states) in TYPES and layer.bias is not None
    return known and HAS_TRITON and states.numel() >= LARGE and torch.is_grad_enabled()


def widen(states: Float[Tensor, "*rows width"], layer: nn.Linear) -> Float[Tensor, "*rows inner"]:
    """max(0, x W + b), in the type in which products are taken."""
    dtype = _type(states)
    rows = states.flatten(0, -2).to(dtype)
    return _widen(rows, layer.weight.to(dtype), layer.bias.to(dtype)).unflatten(
        0, states.shape[:-1]
    )


def _type(states: Tensor) -> torch.dtype:
    kind = states.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else states.dtype


@torch.library.custom_op(
    "regard::widen", mutates_args=(), schema="(Tensor states, Tensor weight, Tensor bias) -> Tensor"
)
def _widen(states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch._addmm_activation(bias, states, weight.t())


@_widen.register_fake
def _widen_shape(states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:  # noqa: ARG001
    return states.new_empty(len(states), len(weight))


@torch.library.custom_op(
    "regard::bent",
    mutates_args=(),
    schema="(Tensor gradient, Tensor found) -> (Tensor, Tensor)",
)
def _bent(gradient: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient where something came out, and its sum over rows, which is that of the bias."""
    if found.is_cuda:
        from regard.layers import widen_triton

        return widen_triton.bent(gradient.contiguous(), found)
    passed = gradient.masked_fill(found <= 0, 0.0)
    return passed, passed.sum(0, dtype=_wide(found))


@_bent.register_fake
def _bent_shapes(gradient: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ARG001
    return torch.empty_like(found), found.new_empty(found.shape[1], dtype=_wide(found))


def _wide(found: Tensor) -> torch.dtype:
    return torch.float64 if found.dtype == torch.float64 else torch.float32


def _remember(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:2], output)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    states, weight, found = ctx.saved_tensors
    passed, summed = _bent(gradient, found)
    return passed @ weight, passed.t() @ states, summed.to(weight.dtype)


_widen.register_autograd(_backward, setup_context=_remember)
