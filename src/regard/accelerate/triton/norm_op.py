"""Layer normalisation by kernels of our own on a GPU, alone or behind the sum that it normalises.

x' = x + dropout(f) and y = norm(x') are one pass over memory, and so is their backward pass: the gradients
of x' and y meet on the chip. What dropout keeps is a function of a seed and the place, worked out when
needed.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

WIDEST = 8192  # a row must fit on the chip
TYPES = (torch.float32, torch.bfloat16, torch.float16)
HAS_TRITON = find_spec("triton") is not None

States = Float[Tensor, "... width"]
Vector = Float[Tensor, " width"]


def fits(states: Tensor, *others: Tensor) -> bool:
    """Whether the kernels know these tensors."""
    alike = all(one.shape == states.shape and one.dtype == states.dtype for one in others)
    return alike and states.dtype in TYPES and states.shape[-1] <= WIDEST


def norm(states: States, weight: Vector, bias: Vector, eps: float) -> States:
    """(x - mu) / sqrt(sigma^2 + eps) * gamma + beta, in the type of x."""
    _, normed, _, _ = _norm(states, None, weight, bias, None, eps, 0.0, None)
    return normed


def add_norm(
    states: States,
    change: States,
    weight: Vector,
    bias: Vector,
    eps: float,
    dropout: float,
    late: Vector | None = None,
) -> tuple[States, States]:
    """The sum x' = x + dropout(f), and its norm.

    `late` is a bias that was added to every row of f, and gets its gradient here: the sum of all rows' of f.
    """
    seed = torch.randint(1 << 62, (1,), device=states.device) if dropout else None
    joined, normed, _, _ = _norm(states, change, weight, bias, seed, eps, dropout, late)
    return joined, normed


@torch.library.custom_op(
    "regard::norm",
    mutates_args=(),
    schema="(Tensor states, Tensor? change, Tensor weight, Tensor bias, Tensor? seed, float eps, "
    "float dropout, Tensor? late) -> (Tensor, Tensor, Tensor, Tensor)",
)
def _norm(
    states: Tensor,
    change: Tensor | None,
    weight: Tensor,
    bias: Tensor,
    seed: Tensor | None,
    eps: float,
    dropout: float,
    late: Tensor | None,  # noqa: ARG001
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sum (empty where nothing is added), its norm, and each row's mean and 1 / deviation."""
    from regard.accelerate.triton import norm_kernels

    changed = None if change is None else change.contiguous()
    return norm_kernels.forward(states.contiguous(), changed, weight, bias, seed, eps, dropout)


@_norm.register_fake
def _norm_shapes(
    states: Tensor,
    change: Tensor | None,
    weight: Tensor,  # noqa: ARG001
    bias: Tensor,  # noqa: ARG001
    seed: Tensor | None,  # noqa: ARG001
    eps: float,  # noqa: ARG001
    dropout: float,  # noqa: ARG001
    late: Tensor | None,  # noqa: ARG001
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    rows = states.shape[:-1].numel()
    joined = states.new_empty(0 if change is None else states.shape)
    mean, scale = (states.new_empty(rows, dtype=torch.float32) for _ in range(2))
    return joined, states.new_empty(states.shape), mean, scale


@torch.library.custom_op(
    "regard::norm_backward",
    mutates_args=(),
    schema="(Tensor of_normed, Tensor? of_joined, Tensor joined, Tensor mean, Tensor scale, "
    "Tensor weight, Tensor? seed, float dropout, bool has_late) -> (Tensor, Tensor, Tensor)",
)
def _gradients(
    of_normed: Tensor,
    of_joined: Tensor | None,
    joined: Tensor,
    mean: Tensor,
    scale: Tensor,
    weight: Tensor,
    seed: Tensor | None,
    dropout: float,
    has_late: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the states, of the change (empty if it is the same), of gamma, beta and the late bias."""
    from regard.accelerate.triton import norm_kernels

    beside = None if of_joined is None else of_joined.contiguous()
    return norm_kernels.backward(
        of_normed.contiguous(),
        beside,
        joined.contiguous(),
        mean,
        scale,
        weight,
        seed,
        dropout,
        has_late,
    )


@_gradients.register_fake
def _gradients_shapes(
    of_normed: Tensor,  # noqa: ARG001
    of_joined: Tensor | None,  # noqa: ARG001
    joined: Tensor,
    mean: Tensor,  # noqa: ARG001
    scale: Tensor,  # noqa: ARG001
    weight: Tensor,
    seed: Tensor | None,
    dropout: float,  # noqa: ARG001
    has_late: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    of_change = joined.new_empty(0 if seed is None else joined.shape)
    of_weights = weight.new_empty(3 if has_late else 2, len(weight), dtype=torch.float32)
    return joined.new_empty(joined.shape), of_change, of_weights


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    states, change, weight, _, seed, _, ctx.dropout, late = inputs
    joined, _, mean, scale = output
    ctx.late_type = None if late is None else late.dtype
    ctx.is_sum, ctx.has_seed = change is not None, seed is not None
    kept = (states if change is None else joined, mean, scale, weight)
    ctx.save_for_backward(*kept, *([] if seed is None else [seed]))


def _backward(
    ctx: Any, of_joined: Tensor, of_normed: Tensor, *_: Tensor
) -> tuple[Tensor | None, ...]:
    joined, mean, scale, weight, *seeds = ctx.saved_tensors
    seed = seeds[0] if ctx.has_seed else None
    beside = of_joined if ctx.is_sum else None
    has_late = ctx.late_type is not None
    of_states, of_change, of_weights = _gradients(
        of_normed, beside, joined, mean, scale, weight, seed, ctx.dropout, has_late
    )
    of_weight, of_bias = of_weights[:2].to(weight.dtype).unbind(0)
    of_late = of_weights[2].to(ctx.late_type) if has_late else None
    moved = (of_change if ctx.has_seed else of_states) if ctx.is_sum else None
    return of_states, moved, of_weight, of_bias, None, None, None, of_late


_norm.register_autograd(_backward, setup_context=_remember)
