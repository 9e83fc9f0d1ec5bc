"""Structured masks through FlexAttention: blocks of keys that no query may see are never touched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

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

    def takes(
        self,
        attention: Attention,
        query: Tensor,
        memory: Memory,  # noqa: ARG002
        mask: Mask | None,
    ) -> bool:
        """Whether a structured mask meets a dot product and a softmax."""
        known = isinstance(attention.score, DotScore) and isinstance(attention.normaliser, Softmax)
        if not (known and query.is_cuda) or attention.is_dropping:
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
