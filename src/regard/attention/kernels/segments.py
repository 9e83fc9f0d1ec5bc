"""Softmax attention inside each of many short sequences, one GPU program a sequence and head.

A sentence fits on the chip: its queries, keys and values are read once, and so are they for all three
gradients. Kernels made for long rows would spend most of their time on places that are not there.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.packed import Packed

WIDTHS = (16, 32, 64, 128)
HAS_TRITON = find_spec("triton") is not None

Split = Float[Tensor, "1 heads places width"]
Starts = Int[Tensor, " edges"]


def takes(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether the kernel knows these tensors."""
    width = query.shape[-1]
    alike = key.shape[-1] == width and value.shape[-1] == width
    return HAS_TRITON and query.is_cuda and alike and width in WIDTHS


def attend(
    query: Split, key: Split, value: Split, packing: Packed, causal: bool, scale: float
) -> Split:
    """softmax(q k^T scale) v for each sequence; places of no sequence get 0."""
    found, _ = _attend(
        query, key, value, packing.queries.starts, packing.keys.starts, causal, scale
    )
    return found.transpose(0, 1).unsqueeze(0)


@torch.library.custom_op(
    "regard::segments",
    mutates_args=(),
    schema="(Tensor query, Tensor key, Tensor value, Tensor query_starts, Tensor key_starts, "
    "bool causal, float scale) -> (Tensor, Tensor)",
)
def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """The context (place, heads, width), and the log of each query's sum of exponentials, in base 2."""
    from regard.attention.kernels import segments_triton

    return segments_triton.forward(query, key, value, query_starts, key_starts, causal, scale)


@_attend.register_fake
def _attend_shapes(
    query: Tensor,
    key: Tensor,  # noqa: ARG001
    value: Tensor,  # noqa: ARG001
    query_starts: Tensor,  # noqa: ARG001
    key_starts: Tensor,  # noqa: ARG001
    causal: bool,  # noqa: ARG001
    scale: float,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    _, heads, places, width = query.shape
    return query.new_empty(places, heads, width), query.new_empty(
        heads, places, dtype=torch.float32
    )


@torch.library.custom_op(
    "regard::segments_backward",
    mutates_args=(),
    schema="(Tensor gradient, Tensor query, Tensor key, Tensor value, Tensor context, "
    "Tensor log_sums, Tensor query_starts, Tensor key_starts, bool causal, float scale) "
    "-> (Tensor, Tensor, Tensor)",
)
def _gradients(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    context: Tensor,
    log_sums: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """What queries, keys and values should have been, each (place, heads, width)."""
    from regard.attention.kernels import segments_triton

    return segments_triton.backward(
        gradient, query, key, value, context, log_sums, query_starts, key_starts, causal, scale
    )


@_gradients.register_fake
def _gradients_shapes(
    gradient: Tensor,  # noqa: ARG001
    query: Tensor,
    key: Tensor,
    value: Tensor,
    context: Tensor,  # noqa: ARG001
    log_sums: Tensor,  # noqa: ARG001
    query_starts: Tensor,  # noqa: ARG001
    key_starts: Tensor,  # noqa: ARG001
    causal: bool,  # noqa: ARG001
    scale: float,  # noqa: ARG001
) -> tuple[Tensor, Tensor, Tensor]:
    of_query, of_key, of_value = (
        tensor.new_empty(tensor.shape[2], tensor.shape[1], tensor.shape[3])
        for tensor in (query, key, value)
    )
    return of_query, of_key, of_value


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    query, key, value, query_starts, key_starts, ctx.causal, ctx.scale = inputs
    ctx.save_for_backward(query, key, value, *output, query_starts, key_starts)


def _backward(ctx: Any, gradient: Tensor, _of_log_sums: Tensor) -> tuple[Tensor | None, ...]:
    query, key, value, context, log_sums, query_starts, key_starts = ctx.saved_tensors
    found = _gradients(
        gradient.contiguous(),
        query,
        key,
        value,
        context,
        log_sums,
        query_starts,
        key_starts,
        ctx.causal,
        ctx.scale,
    )
    return *(one.transpose(0, 1).unsqueeze(0) for one in found), None, None, None, None


_attend.register_autograd(_backward, setup_context=_remember)


def attend_within(
    joined: Float[Tensor, "1 places three"],
    heads: int,
    packing: Packed,
    causal: bool,
    scale: float,
) -> Split:
    """The same where queries, keys and values lie side by side in one tensor, as will their gradients."""
    found, _ = _within(joined, packing.queries.starts, heads, causal, scale)
    return found.transpose(0, 1).unsqueeze(0)


def _thirds(joined: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, each (1, heads, place, width), as they lie."""
    query, key, value = joined.unflatten(-1, (3, heads, -1)).unbind(2)
    return query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)


@torch.library.custom_op(
    "regard::segments_within",
    mutates_args=(),
    schema="(Tensor joined, Tensor starts, int heads, bool causal, float scale) -> (Tensor, Tensor)",
)
def _within(
    joined: Tensor, starts: Tensor, heads: int, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    from regard.attention.kernels import segments_triton

    query, key, value = _thirds(joined, heads)
    return segments_triton.forward(query, key, value, starts, starts, causal, scale)


@_within.register_fake
def _within_shapes(
    joined: Tensor,
    starts: Tensor,  # noqa: ARG001
    heads: int,
    causal: bool,  # noqa: ARG001
    scale: float,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    _, places, three = joined.shape
    context = joined.new_empty(places, heads, three // 3 // heads)
    return context, joined.new_empty(heads, places, dtype=torch.float32)


@torch.library.custom_op(
    "regard::segments_within_backward",
    mutates_args=(),
    schema="(Tensor gradient, Tensor joined, Tensor context, Tensor log_sums, Tensor starts, int heads, "
    "bool causal, float scale) -> Tensor",
)
def _gradient_within(
    gradient: Tensor,
    joined: Tensor,
    context: Tensor,
    log_sums: Tensor,
    starts: Tensor,
    heads: int,
    causal: bool,
    scale: float,
) -> Tensor:
    """What all three should have been, side by side."""
    from regard.attention.kernels import segments_triton

    found = torch.empty_like(joined, memory_format=torch.contiguous_format)
    query, key, value = _thirds(joined, heads)
    segments_triton.backward(
        gradient.contiguous(), query, key, value, context, log_sums, starts, starts, causal, scale,
        into=_thirds(found, heads),
    )  # fmt: skip
    return found


@_gradient_within.register_fake
def _gradient_within_shape(
    gradient: Tensor,  # noqa: ARG001
    joined: Tensor,
    context: Tensor,  # noqa: ARG001
    log_sums: Tensor,  # noqa: ARG001
    starts: Tensor,  # noqa: ARG001
    heads: int,  # noqa: ARG001
    causal: bool,  # noqa: ARG001
    scale: float,  # noqa: ARG001
) -> Tensor:
    return torch.empty_like(joined, memory_format=torch.contiguous_format)


def _remember_within(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    joined, starts, ctx.heads, ctx.causal, ctx.scale = inputs
    ctx.save_for_backward(joined, *output, starts)


def _backward_within(ctx: Any, gradient: Tensor, _of_log_sums: Tensor) -> tuple[Tensor | None, ...]:
    found = _gradient_within(gradient, *ctx.saved_tensors, ctx.heads, ctx.causal, ctx.scale)
    return found, None, None, None, None


_within.register_autograd(_backward_within, setup_context=_remember_within)
