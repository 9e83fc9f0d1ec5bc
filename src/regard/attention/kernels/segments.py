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
