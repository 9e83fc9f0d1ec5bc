"""Structured masks on a GPU through FlexAttention: what no query may see is never touched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    create_block_mask,
    flex_attention,
)

from regard.attention.formula import AttendForm
from regard.attention.mask import Both, Causal, GlobalWindow, Mask, Padding, Strided, Window
from regard.attention.memory import Memory
from regard.attention.normalise import Softmax
from regard.attention.score import DotScore

if TYPE_CHECKING:
    from regard.attention.attention import Attention


PATTERNS = (
    Causal,
    Window,
    Strided,
    GlobalWindow,
)  # masks that hold numbers alone, and so compare equal


@final
@dataclass(frozen=True)
class Flex(AttendForm):
    """On a GPU, for masks of which whole blocks of keys can be left out: not for causal and padding alone."""

    devices: tuple[str, ...] = ("cuda",)

    def takes(
        self,
        attention: Attention,
        query: Tensor,  # noqa: ARG002
        memory: Memory,  # noqa: ARG002
        mask: Mask | None,
    ) -> bool:
        """Whether a structured mask meets a dot product and a softmax."""
        known = isinstance(attention.score, DotScore) and isinstance(attention.normaliser, Softmax)
        if not known or attention.is_dropping:
            return False
        parts = mask.parts if isinstance(mask, Both) else (mask,)
        return any(not isinstance(part, (Causal, Padding, type(None))) for part in parts)

    def attend(
        self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
    ) -> Float[Tensor, "b h query value_width"]:
        """softmax(q' . k' scale + bias) v over the blocks that the mask leaves."""
        score = attention.score
        assert isinstance(score, DotScore)
        (batch, heads, queries, _), keys, first = query.shape, memory.key.shape[2], memory.first
        nearer, blocks = None, None
        if attention.bias is not None:
            bias = attention.bias(queries, keys, first)
            nearer = lambda found, _, head, i, j: found + bias[0, head, i, j]  # noqa: E731
        if mask is not None:
            parts = mask.parts if isinstance(mask, Both) else (mask,)
            if all(isinstance(part, PATTERNS) for part in parts):
                blocks = pattern_blocks(mask, queries, keys, first, query.device)
            else:
                blocks = _blocks(mask, (batch, heads), (queries, keys), first, query.device)
        return kernel(query.is_cuda)(
            score.adapt(query),
            memory.key,
            memory.value,
            score_mod=nearer,
            block_mask=blocks,
            scale=score.scale(memory.key.shape[-1]),
        )


@lru_cache(maxsize=64)
def pattern_blocks(
    mask: Mask, queries: int, keys: int, first: int, device: torch.device
) -> BlockMask:
    """The blocks of a pattern that is the same for every row and head, found once: finding them costs n²."""
    return _blocks(mask, (None, None), (queries, keys), first, device)


def _blocks(
    mask: Mask,
    rows: tuple[int | None, int | None],
    sizes: tuple[int, int],
    first: int,
    device: torch.device,
) -> BlockMask:
    return create_block_mask(
        lambda row, head, i, j: mask.allows(row, head, i + first, j), *rows, *sizes, device=device
    )


@cache
def kernel(compiled: bool) -> Any:
    """FlexAttention is a kernel only once compiled; plain, it is the same formula, for checking."""
    return torch.compile(flex_attention) if compiled else flex_attention


# Strides on a GPU: a window and columns, each by FlexAttention, and one normaliser over both.
# Hardly any block of 128 x 128 pairs is empty under strides, so leaving out blocks saves nothing. But in
# lines of `stride` words what is whole strides apart stands in one column, and a column is a short text of
# its own.


@final
@dataclass(frozen=True)
class Columns(AttendForm):
    """From `least` positions on it was measured to be faster than `flex`."""

    least: int = 1024
    devices: tuple[str, ...] = ("cuda",)

    def takes(self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None) -> bool:
        """Whether a long text reads itself in strides, on a GPU, and nothing else is forbidden."""
        known = attention.bias is None and Flex().takes(attention, query, memory, mask)
        return known and self.fits(query, memory, mask)

    def fits(self, query: Tensor, memory: Memory, mask: Mask | None) -> bool:
        """Whether the text can be written in lines of one stride.

        The last line may be short only where nobody looks ahead: nobody then sees what fills it up.
        """
        length, parts = query.shape[2], mask.parts if isinstance(mask, Both) else (mask,)
        strides = [part.stride for part in parts if isinstance(part, Strided)]
        if len(strides) != 1 or not all(isinstance(part, (Strided, Causal)) for part in parts):
            return False
        itself = length == memory.key.shape[2] and memory.first == 0
        return itself and length >= self.least and (len(parts) > 1 or length % strides[0] == 0)

    def attend(
        self, attention: Attention, query: Tensor, memory: Memory, mask: Mask | None
    ) -> Float[Tensor, "b h query value_width"]:
        """softmax(q' . k' scale) v over the nearest words and those whole strides away."""
        score, parts = attention.score, mask.parts if isinstance(mask, Both) else (mask,)
        assert isinstance(score, DotScore)
        stride = next(part.stride for part in parts if isinstance(part, Strided))
        causal, (length, device) = len(parts) > 1, (query.shape[2], query.device)
        near = Window(stride - 1, 0 if causal else stride - 1)
        return _work(query.is_cuda)(
            score.adapt(query),
            memory.key,
            memory.value,
            pattern_blocks(near, length, length, 0, device),
            _others(-(-length // stride), causal, device),
            score.scale(memory.key.shape[-1]),
            stride,
        )


@lru_cache(maxsize=64)
def _others(lines: int, causal: bool, device: torch.device) -> BlockMask:
    """Of a column all words but one's own, which is near; only those above it if nobody looks ahead."""
    return create_block_mask(
        lambda row, head, i, j: (i > j) if causal else (i != j),  # noqa: ARG005
        *(None, None, lines, lines),
        device=device,
    )


@cache
def _work(compiled: bool) -> Any:
    """One program of two kernels and what brings them together."""
    return torch.compile(_both) if compiled else _both


def _both(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    near: BlockMask,
    others: BlockMask,
    scale: float,
    stride: int,
) -> Tensor:
    """Contexts of near words and of the column, each weighed by its share of all exponentials."""
    wanted, length = AuxRequest(lse=True), query.shape[2]

    def columns(states: Tensor) -> Tensor:
        filled = F.pad(states, (0, 0, 0, -length % stride))
        return filled.unflatten(2, (-1, stride)).permute(0, 3, 1, 2, 4).flatten(0, 1)

    def flat(context: Tensor) -> Tensor:
        return (
            context.unflatten(0, (-1, stride)).permute(0, 2, 3, 1, 4).flatten(2, 3)[:, :, :length]
        )

    def weighed(states: tuple[Tensor, Tensor, Tensor], allowed: BlockMask) -> tuple[Tensor, Tensor]:
        context, rest = flex_attention(*states, block_mask=allowed, scale=scale, return_aux=wanted)
        assert rest.lse is not None
        return context, rest.lse[..., None]

    close, here = weighed((query, key, value), near)
    far, there = map(flat, weighed((columns(query), columns(key), columns(value)), others))
    whole = torch.logaddexp(here, there)
    context = close * (here - whole).exp() + far * (there - whole).exp()
    return context.to(value.dtype)
