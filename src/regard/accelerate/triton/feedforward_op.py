"""max(0, x W_1 + b_1) W_2 + b_2 as one operator, made for a GPU: the ReLU is the first product's epilogue.

What comes out of the first product says where the ReLU let it through, so that nothing else is kept. In the
backward pass one kernel masks the gradient by it, and adds it up for b_1.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

TYPES = (torch.bfloat16, torch.float16)

States = Float[Tensor, "*rows width"]


def fits(states: Tensor, widen: nn.Linear) -> bool:
    """Whether the operator knows this case: half precision, and a bias to add before the ReLU."""
    return _type(states) in TYPES and widen.bias is not None


def feedforward(states: States, widen: nn.Linear, narrow: nn.Linear, *, late: bool) -> States:
    """The network, in the type in which products are taken; if `late`, b_2 gets its gradient elsewhere."""
    dtype = _type(states)
    last = narrow.bias.detach() if late else narrow.bias
    weights = (widen.weight, widen.bias, narrow.weight, last)
    rows = states.flatten(0, -2).to(dtype)
    output, _ = _feedforward(rows, *(weight.to(dtype) for weight in weights))
    return output.unflatten(0, states.shape[:-1])


def _type(states: Tensor) -> torch.dtype:
    kind = states.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else states.dtype


@torch.library.custom_op(
    "regard::feedforward",
    mutates_args=(),
    schema="(Tensor states, Tensor widen, Tensor shift, Tensor narrow, Tensor last) -> (Tensor, Tensor)",
)
def _feedforward(
    states: Tensor, widen: Tensor, shift: Tensor, narrow: Tensor, last: Tensor
) -> tuple[Tensor, Tensor]:
    """What comes out, and what was inside."""
    inside = torch._addmm_activation(shift, states, widen.t())
    return torch.addmm(last, inside, narrow.t()), inside


@_feedforward.register_fake
def _feedforward_shapes(
    states: Tensor,
    widen: Tensor,
    shift: Tensor,  # noqa: ARG001
    narrow: Tensor,
    last: Tensor,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    return states.new_empty(len(states), len(narrow)), states.new_empty(len(states), len(widen))


@torch.library.custom_op(
    "regard::relu_backward",
    mutates_args=(),
    schema="(Tensor gradient, Tensor narrow, Tensor inside) -> (Tensor, Tensor)",
)
def _masked(gradient: Tensor, narrow: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient before the ReLU, and its sum over rows, which is that of b_1."""
    if inside.is_cuda:
        from regard.accelerate.triton.rows_kernels import masked

        return masked(gradient @ narrow, inside)
    passed = (gradient @ narrow).masked_fill(inside <= 0, 0.0)
    return passed, passed.sum(0, dtype=_wide(inside))


@_masked.register_fake
def _masked_shapes(
    gradient: Tensor,  # noqa: ARG001
    narrow: Tensor,  # noqa: ARG001
    inside: Tensor,
) -> tuple[Tensor, Tensor]:
    return torch.empty_like(inside), inside.new_empty(inside.shape[1], dtype=_wide(inside))


def _wide(inside: Tensor) -> torch.dtype:
    return torch.float64 if inside.dtype == torch.float64 else torch.float32


def _remember(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
    states, widen, _, narrow, _ = inputs
    ctx.save_for_backward(states, widen, narrow, output[1])
    ctx.mark_non_differentiable(output[1])


def _backward(ctx: Any, gradient: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
    states, widen, narrow, inside = ctx.saved_tensors
    passed, summed = _masked(gradient, narrow, inside)
    last = gradient.sum(0) if ctx.needs_input_grad[4] else None
    return (
        passed @ widen,
        passed.t() @ states,
        summed.to(widen.dtype),
        gradient.t() @ inside,
        last,
    )


_feedforward.register_autograd(_backward, setup_context=_remember)
