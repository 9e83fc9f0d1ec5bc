"""The loss over a large vocabulary without its logits, by far the largest tensor of a batch.

Chunk by chunk they become a loss and, in the same place, the gradient, which is then multiplied out at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.models.readers import IGNORE, LossForm

SHARE = 32  # of a device's memory: no more than one in so many
ALIGNED = 64  # columns: matrix products like whole tiles


@final
@dataclass(frozen=True)
class ChunkedLoss(LossForm):
    """Up to `whole` logits are formed at once; of more, at most `chunk` bytes at a time."""

    whole: int = 1 << 24
    chunk: int = 1 << 30

    def takes(
        self,
        states: Float[Tensor, "*rows width"],  # noqa: ARG002
        output: nn.Linear,
        targets: Int[Tensor, "*rows"],
    ) -> bool:
        """Whether there would be many logits."""
        return targets.numel() * len(output.weight) > self.whole

    def loss(
        self,
        states: Float[Tensor, "*rows width"],
        output: nn.Linear,
        targets: Int[Tensor, "*rows"],
        smoothing: float,
    ) -> Float[Tensor, ""]:
        """In the type in which products are taken."""
        kind = states.device.type
        if torch.is_autocast_enabled(kind):
            states = states.to(torch.get_autocast_dtype(kind))
        loss, *_ = _by_chunks(
            states.flatten(0, -2),
            output.weight,
            output.bias,
            targets.flatten(),
            smoothing,
            self.chunk,
            torch.is_grad_enabled(),
        )
        return loss


FORMS: tuple[LossForm, ...] = (ChunkedLoss(),)


@torch.library.custom_op(
    "regard::vocabulary_loss",
    mutates_args=(),
    schema="(Tensor states, Tensor weight, Tensor? bias, Tensor targets, float smoothing, int chunk, "
    "bool learning) -> (Tensor, Tensor, Tensor, Tensor)",
)
def _by_chunks(
    states: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    smoothing: float,
    chunk: int,
    learning: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The loss, and its gradient by states, weight and bias (empty unless `learning`)."""
    symbols = len(weight)
    columns = -(-symbols // ALIGNED) * ALIGNED
    table = F.pad(weight.to(states.dtype), (0, 0, 0, columns - symbols))
    shift = None if bias is None else F.pad(bias.to(states.dtype), (0, columns - symbols))
    by_states, by_weight, by_bias = _by_chunks_shapes(
        states, weight, bias, targets, smoothing, chunk, learning
    )[1:]
    loss = torch.zeros((), device=states.device, dtype=_wide(states))
    by_table = table
    by_shift = torch.zeros(
        columns if bias is not None and learning else 0, device=loss.device, dtype=loss.dtype
    )
    rows = max(
        ALIGNED, _room(loss, chunk) // (columns * states.element_size()) // ALIGNED * ALIGNED
    )
    for start in range(0, len(states), rows):
        some = states[start : start + rows]
        logits = some @ table.T if shift is None else torch.addmm(shift, some, table.T)
        loss += _turn(logits, targets[start : start + rows], symbols, smoothing).sum()
        if learning:
            torch.mm(logits, table, out=by_states[start : start + rows])
            products = logits.T @ some
            by_table = by_table.add_(products) if start else products.to(weight.dtype)
            if by_bias.numel():
                by_shift += logits.sum(0, dtype=loss.dtype)
    if learning:
        by_weight = by_table[:symbols].clone() if columns > symbols else by_table
        by_bias = by_shift[:symbols].to(by_bias.dtype).clone() if by_bias.numel() else by_bias
    return loss, by_states, by_weight, by_bias


@_by_chunks.register_fake
def _by_chunks_shapes(
    states: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,  # noqa: ARG001
    smoothing: float,  # noqa: ARG001
    chunk: int,  # noqa: ARG001
    learning: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    loss = states.new_empty((), dtype=_wide(states))
    if not learning:
        return loss, states.new_empty(0), weight.new_empty(0), weight.new_empty(0)
    by_bias = weight.new_empty(0) if bias is None else torch.empty_like(bias)
    return loss, torch.empty_like(states), torch.empty_like(weight), by_bias


def _wide(states: Tensor) -> torch.dtype:
    return torch.float64 if states.dtype == torch.float64 else torch.float32


def _room(like: Tensor, chunk: int) -> int:
    """How many bytes of logits there may be at a time."""
    if not like.is_cuda:
        return chunk
    return min(chunk, torch.cuda.get_device_properties(like.device).total_memory // SHARE)


def _turn(
    logits: Tensor, targets: Tensor, symbols: int, smoothing: float
) -> Float[Tensor, " rows"]:
    """Losses of some rows, whose logits become, where they lie, the gradient by them."""
    if logits.is_cuda and logits.dtype != torch.float64 and find_spec("triton") is not None:
        from regard.accelerate.triton import rows_kernels

        return rows_kernels.turn(logits, targets, symbols, smoothing, IGNORE)
    wide = logits[:, :symbols].to(_wide(logits))
    judged = targets != IGNORE
    index = targets.masked_fill(~judged, 0).long().unsqueeze(1)
    log_sum = wide.logsumexp(1)
    right = wide.gather(1, index).squeeze(1)
    losses = (log_sum - (1 - smoothing) * right - smoothing * wide.mean(1)).masked_fill(
        ~judged, 0.0
    )
    gradient = (wide - log_sum.unsqueeze(1)).exp_() - smoothing / symbols
    gradient.scatter_add_(1, index, gradient.new_full(index.shape, smoothing - 1))
    logits.zero_()
    logits[:, :symbols] = gradient.masked_fill_(~judged.unsqueeze(1), 0.0)
    return losses


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.has_bias = inputs[2] is not None
    ctx.save_for_backward(*output[1:])


def _backward(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    by_states, by_weight, by_bias = ctx.saved_tensors
    scaled = [one * gradient.to(one.dtype) for one in (by_states, by_weight)]
    return *scaled, by_bias * gradient if ctx.has_bias else None, None, None, None, None


_by_chunks.register_autograd(_backward, setup_context=_remember)
