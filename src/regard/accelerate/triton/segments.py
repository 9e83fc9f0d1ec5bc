"""Softmax attention inside each of many short sequences of a packed row, on a GPU.

A sentence fits on the chip, or several do (`tiles`): their queries, keys and values are read once, and once
more for all three gradients. Kernels made for long rows would spend their time on pairs that never meet.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.attention.packed import Packed

HAS_TRITON = find_spec("triton") is not None

Split = Float[Tensor, "1 heads places width"]


def attend(
    query: Split, key: Split, value: Split, packing: Packed, causal: bool, scale: float
) -> Split:
    """softmax(q k^T scale) v for each sequence; places of no sequence get 0."""
    queries, keys = packing.queries, packing.keys
    layout = queries.numbers, keys.numbers, queries.tiles, keys.tiles
    longest = max(queries.longest, keys.longest)
    context, _ = _attend(query, key, value, *layout, longest, causal, scale)
    return context.transpose(0, 1).unsqueeze(0)


@torch.library.custom_op(
    "regard::segments",
    mutates_args=(),
    schema="(Tensor query, Tensor key, Tensor value, Tensor query_numbers, Tensor key_numbers, "
    "Tensor query_tiles, Tensor key_tiles, int longest, bool causal, float scale) -> (Tensor, Tensor)",
)
def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_numbers: Tensor,
    key_numbers: Tensor,
    query_tiles: Tensor,
    key_tiles: Tensor,
    longest: int,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """The context (place, heads, width), and the log of each query's sum of exponentials, in base 2."""
    from regard.accelerate.triton import segments_launch

    layout = query_numbers, key_numbers, query_tiles, key_tiles
    return segments_launch.forward(query, key, value, layout, longest, causal, scale)


@_attend.register_fake
def _attend_shapes(
    query: Tensor,
    key: Tensor,  # noqa: ARG001
    value: Tensor,  # noqa: ARG001
    query_numbers: Tensor,  # noqa: ARG001
    key_numbers: Tensor,  # noqa: ARG001
    query_tiles: Tensor,  # noqa: ARG001
    key_tiles: Tensor,  # noqa: ARG001
    longest: int,  # noqa: ARG001
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
    "Tensor log_sums, Tensor query_numbers, Tensor key_numbers, Tensor query_tiles, Tensor key_tiles, "
    "int longest, bool causal, float scale) -> (Tensor, Tensor, Tensor)",
)
def _gradients(  # noqa: PLR0913, PLR0917
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    context: Tensor,
    log_sums: Tensor,
    query_numbers: Tensor,
    key_numbers: Tensor,
    query_tiles: Tensor,
    key_tiles: Tensor,
    longest: int,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """What queries, keys and values should have been, each (place, heads, width)."""
    from regard.accelerate.triton import segments_launch

    layout = query_numbers, key_numbers, query_tiles, key_tiles
    return segments_launch.backward(
        gradient, query, key, value, context, log_sums, layout, longest, causal, scale
    )


@_gradients.register_fake
def _gradients_shapes(  # noqa: PLR0913, PLR0917
    gradient: Tensor,  # noqa: ARG001
    query: Tensor,
    key: Tensor,
    value: Tensor,
    context: Tensor,  # noqa: ARG001
    log_sums: Tensor,  # noqa: ARG001
    query_numbers: Tensor,  # noqa: ARG001
    key_numbers: Tensor,  # noqa: ARG001
    query_tiles: Tensor,  # noqa: ARG001
    key_tiles: Tensor,  # noqa: ARG001
    longest: int,  # noqa: ARG001
    causal: bool,  # noqa: ARG001
    scale: float,  # noqa: ARG001
) -> tuple[Tensor, Tensor, Tensor]:
    of_query, of_key, of_value = (
        tensor.new_empty(tensor.shape[2], tensor.shape[1], tensor.shape[3])
        for tensor in (query, key, value)
    )
    return of_query, of_key, of_value


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    query, key, value, *layout, ctx.longest, ctx.causal, ctx.scale = inputs
    ctx.save_for_backward(query, key, value, *output, *layout)


def _backward(ctx: Any, gradient: Tensor, _of_log_sums: Tensor) -> tuple[Tensor | None, ...]:
    gradients = _gradients(
        gradient.contiguous(), *ctx.saved_tensors, ctx.longest, ctx.causal, ctx.scale
    )
    return *(one.transpose(0, 1).unsqueeze(0) for one in gradients), *[None] * 7


_attend.register_autograd(_backward, setup_context=_remember)


def attend_within(
    states: Float[Tensor, "1 places width"],
    weight: Float[Tensor, "three width"],
    bias: Float[Tensor, " three"] | None,
    heads: int,
    packing: Packed,
    causal: bool,
    scale: float,
) -> Split:
    """The same of queries, keys and values that one product makes, side by side, as are their gradients.

    Those of the bias are sums over places, and come from the kernel that has all places in its hands.
    """
    joined = F.linear(states, weight, None if bias is None else bias.detach())
    queries = packing.queries
    layout = queries.numbers, queries.tiles
    context, _ = _within(joined, bias, *layout, queries.longest, heads, causal, scale)
    return context.transpose(0, 1).unsqueeze(0)


def _thirds(joined: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, each (1, heads, place, width), as they lie."""
    query, key, value = joined.unflatten(-1, (3, heads, -1)).unbind(2)
    return query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)


@torch.library.custom_op(
    "regard::segments_within",
    mutates_args=(),
    schema="(Tensor joined, Tensor? bias, Tensor numbers, Tensor tiles, int longest, int heads, "
    "bool causal, float scale) -> (Tensor, Tensor)",
)
def _within(
    joined: Tensor,
    bias: Tensor | None,  # noqa: ARG001
    numbers: Tensor,
    tiles: Tensor,
    longest: int,
    heads: int,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """The bias is already in; it is named as whose gradient is to be found."""
    from regard.accelerate.triton import segments_launch

    query, key, value = _thirds(joined, heads)
    layout = numbers, numbers, tiles, tiles
    return segments_launch.forward(query, key, value, layout, longest, causal, scale)


@_within.register_fake
def _within_shapes(
    joined: Tensor,
    bias: Tensor | None,  # noqa: ARG001
    numbers: Tensor,  # noqa: ARG001
    tiles: Tensor,  # noqa: ARG001
    longest: int,  # noqa: ARG001
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
    schema="(Tensor gradient, Tensor joined, Tensor context, Tensor log_sums, Tensor numbers, "
    "Tensor tiles, bool has_bias, int longest, int heads, bool causal, float scale) -> (Tensor, Tensor)",
)
def _gradient_within(  # noqa: PLR0913, PLR0917
    gradient: Tensor,
    joined: Tensor,
    context: Tensor,
    log_sums: Tensor,
    numbers: Tensor,
    tiles: Tensor,
    has_bias: bool,
    longest: int,
    heads: int,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    """What all three should have been, side by side, and the bias (empty if there is none)."""
    from regard.accelerate.triton import segments_launch
    from regard.accelerate.triton.rows_kernels import add_up

    of_joined = torch.empty_like(joined, memory_format=torch.contiguous_format)
    query, key, value = _thirds(joined, heads)
    sums = log_sums.new_empty(len(tiles), joined.shape[-1]) if has_bias else None
    segments_launch.backward(
        gradient.contiguous(), query, key, value, context, log_sums,
        (numbers, numbers, tiles, tiles), longest, causal, scale, into=_thirds(of_joined, heads),
        of_bias=sums,
    )  # fmt: skip
    return of_joined, log_sums.new_empty(0) if sums is None else add_up(sums)


@_gradient_within.register_fake
def _gradient_within_shape(  # noqa: PLR0913, PLR0917
    gradient: Tensor,  # noqa: ARG001
    joined: Tensor,
    context: Tensor,  # noqa: ARG001
    log_sums: Tensor,
    numbers: Tensor,  # noqa: ARG001
    tiles: Tensor,  # noqa: ARG001
    has_bias: bool,
    longest: int,  # noqa: ARG001
    heads: int,  # noqa: ARG001
    causal: bool,  # noqa: ARG001
    scale: float,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    of_joined = torch.empty_like(joined, memory_format=torch.contiguous_format)
    return of_joined, log_sums.new_empty(joined.shape[-1] if has_bias else 0)


def _remember_within(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    joined, bias, numbers, tiles, *ctx.rest = inputs
    ctx.bias_type = None if bias is None else bias.dtype
    ctx.save_for_backward(joined, *output, numbers, tiles)


def _backward_within(ctx: Any, gradient: Tensor, _of_log_sums: Tensor) -> tuple[Tensor | None, ...]:
    has_bias = ctx.bias_type is not None
    of_joined, of_bias = _gradient_within(gradient, *ctx.saved_tensors, has_bias, *ctx.rest)
    return of_joined, of_bias.to(ctx.bias_type) if has_bias else None, *[None] * 6


_within.register_autograd(_backward_within, setup_context=_remember_within)
