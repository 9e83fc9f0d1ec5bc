"""A plain Transformer encoder's way through its blocks without its modules, for a GPU that waits.

One sentence keeps a GPU busy for less time than it takes to call the modules of six blocks. Here a block is
ten launches and nothing between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.accelerate.plain import (
    Attending,
    Block,
    Linear,
    Norm,
    Written,
    is_only_read,
    is_plain,
    written,
)
from regard.attention import Mask, Padding
from regard.layers.block import Sources, StackForm
from regard.layers.sublayer import activate
from regard.models import TransformerEncoder

States = Float[Tensor, "batch length width"]


@final
@dataclass(frozen=True, eq=False)
class _Copy:
    """The blocks of an encoder as they were when they were copied."""

    written: Written
    dtype: torch.dtype
    blocks: tuple[Block, ...]
    norm: Norm | None


@final
@dataclass(frozen=True, eq=False)
class Straight(StackForm):
    """On a GPU alone: a processor that works itself does not wait."""

    devices: tuple[str, ...] = ("cuda",)
    _copies: WeakKeyDictionary[nn.Module, _Copy] = field(default_factory=WeakKeyDictionary)

    def takes(
        self,
        side: nn.Module,
        states: Tensor,
        mask: Mask | None,
        sources: Sources,  # noqa: ARG002
    ) -> bool:
        """Whether it pays and is the same: nothing to learn, plain blocks that nobody watches."""
        return (
            not torch.is_grad_enabled()
            and not torch.compiler.is_compiling()
            and isinstance(side, TransformerEncoder)
            and isinstance(mask, (Padding, type(None)))
            and states.numel() > 0
            and is_plain(side)
            and is_only_read(side)
        )

    def run(
        self,
        side: nn.Module,
        states: States,
        mask: Mask | None,
        sources: Sources,  # noqa: ARG002
    ) -> States:
        """What the blocks and the last norm make of embedded words."""
        assert isinstance(side, TransformerEncoder)
        copy = self._copy(side, states.dtype)
        sight = _sight(mask, states) if isinstance(mask, Padding) else None
        with torch.autocast(states.device.type, enabled=False):
            for block in copy.blocks:
                states = _through(block, states, sight)
            return states if copy.norm is None else _normed(states, copy.norm)

    def _copy(self, encoder: TransformerEncoder, dtype: torch.dtype) -> _Copy:
        now, copy = written(encoder), self._copies.get(encoder)
        if copy is None or (copy.written, copy.dtype) != (now, dtype):
            blocks = tuple(Block.of(dtype, block) for block in encoder.blocks)
            norm = None if encoder.norm is None else Norm.of(dtype, encoder.norm)
            copy = self._copies[encoder] = _Copy(now, dtype, blocks, norm)
        return copy


def _through(block: Block, states: States, sight: Tensor | None) -> States:
    """Each position reads all that is in sight, then the feed-forward network."""
    (first, second), (early, late) = block.norms, block.before
    change = _attended(block.within, _normed(states, first) if early else states, sight)
    states = states + change if early else _normed(states + change, first)
    opened = _normed(states, second) if late else states
    change = _mapped(activate(_mapped(opened, block.widen), block.activation), block.narrow)
    return states + change if late else _normed(states + change, second)


def _attended(heads: Attending, opened: States, sight: Tensor | None) -> States:
    three = _mapped(opened, heads.into).unflatten(-1, (3, heads.heads, -1))
    query, key, value = three.permute(2, 0, 3, 1, 4).unbind(0)
    context = F.scaled_dot_product_attention(query, key, value, sight, scale=heads.scale)
    return _mapped(context.transpose(1, 2).flatten(2), heads.out)


def _sight(padding: Padding, states: States) -> Float[Tensor, "batch 1 1 key"]:
    """What to add to scores; a row without words, which nobody will read, sees its first place."""
    void = Padding(padding.lengths.clamp(min=1)).unseen(states.shape[1])
    return states.new_zeros(void.shape).masked_fill_(void, -torch.inf)[:, None, None]


def _normed(states: Tensor, norm: Norm) -> Tensor:
    return torch.layer_norm(states, norm.weight.shape, norm.weight, norm.bias, norm.eps)


def _mapped(states: Tensor, linear: Linear) -> Tensor:
    return F.linear(states, linear.weight, linear.bias)
