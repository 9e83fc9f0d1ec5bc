"""What is not finite harms only the queries that may see it: 0 times NaN is NaN, so weight 0 is no shield.

A key or value that *no* query may see is zeroed when it is remembered (`memory.without_void`). What some
queries may see and others may not, as with `Causal()`, cannot be zeroed. So one sum is taken: of the context,
or, where gradients are recorded, of the keys and of the values. Only where it is not finite is the work done
twice: without the harmful keys, for the queries that may not see them, and as it stands, for those that may.
The sum is read at once, which would stop the queue of kernels on a GPU: there it is read only where no
gradient is recorded, and in training a GPU's kernels keep to what is zeroed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from regard.attention.mask import Both, Mask, Padding
from regard.attention.memory import Memory

Context = Float[Tensor, "batch heads query value_width"]


def attend(
    kernel: Callable[[Memory], Context],
    memory: Memory,
    mask: Mask,
    allowed: Callable[[], Bool[Tensor, "#b #h query key"] | None],
) -> Context:
    """What the kernel reads, each query only from what it may see."""
    if is_even(mask) or not can_look(memory.key):
        return kernel(memory)
    if torch.is_grad_enabled():
        if is_finite(memory.key) and is_finite(memory.value):
            return kernel(memory)
        context = kernel(memory)
    else:
        context = kernel(memory)
        if is_finite(context):
            return context
    harmful = ~(_sound_rows(memory.key) & _sound_rows(memory.value))  # (batch, heads, key)
    cleaned = replace(
        memory, key=_zeroed(memory.key, harmful), value=_zeroed(memory.value, harmful)
    )
    return torch.where(_sees(allowed(), harmful), _unless_zero(context), kernel(cleaned))


def read(weights: Tensor, value: Tensor, allowed: Tensor | None) -> Context:
    """`weights @ value`, each query only from what it may see."""
    if allowed is None or not can_look(value) or is_finite(value):
        return weights @ value
    harmful = ~_sound_rows(value)
    cleaned = weights @ _zeroed(value, harmful)
    return torch.where(_sees(allowed, harmful), _unless_zero(weights @ value), cleaned)


def by_rows(
    work: Callable[[Tensor], Tensor], states: Float[Tensor, "batch heads rows width"]
) -> Tensor:
    """work(states), whose rows know nothing of each other, in the backward pass no more than forward."""
    if not can_look(states) or is_finite(states):
        return work(states)
    harmful = ~_sound_rows(states)
    return torch.where(
        harmful[..., None], _unless_zero(work(states)), work(_zeroed(states, harmful))
    )


def is_even(mask: Mask | None) -> bool:
    """Whether it hides a key from all queries or from none: then what is hidden was zeroed."""
    parts = mask.parts if isinstance(mask, Both) else (mask,)
    return all(isinstance(part, (Padding, type(None))) for part in parts)


def can_look(states: Tensor) -> bool:
    """Whether a number may be read now: never while compiling or recording, and on a GPU not in training."""
    if torch.compiler.is_compiling() or isinstance(states, FakeTensor):
        return False
    return not states.is_cuda or not (
        torch.is_grad_enabled() or torch.cuda.is_current_stream_capturing()
    )


def is_finite(states: Tensor) -> bool:
    """Whether the sum is finite: then so are all. A sum that only overflowed costs time, nothing else."""
    return math.isfinite(states.detach().sum().item())


def _sees(allowed: Tensor | None, harmful: Tensor) -> Bool[Tensor, "batch heads query 1"]:
    """The queries that may see a harmful key."""
    seen = harmful[:, :, None] if allowed is None else allowed & harmful[:, :, None]
    return seen.any(-1, keepdim=True)


def _sound_rows(states: Tensor) -> Bool[Tensor, "batch heads rows"]:
    return states.isfinite().all(-1)


def _zeroed(states: Tensor, rows: Tensor) -> Tensor:
    return states.masked_fill(rows[..., None], 0.0)


def _unless_zero(states: Tensor) -> Tensor:
    return _UnlessZero.apply(states) if states.requires_grad else states


@final
class _UnlessZero(torch.autograd.Function):
    """The same numbers; a gradient of zeros ends here, instead of becoming 0 times NaN."""

    @staticmethod
    def forward(ctx: Any, states: Tensor) -> Tensor:  # noqa: ARG004
        """Nothing is changed."""
        return states.view_as(states)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor | None:  # noqa: ARG004
        """None where nobody wants to know."""
        return gradient if gradient.any() else None
