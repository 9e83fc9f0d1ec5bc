"""A plain Transformer encoder's way through its blocks without its modules, for a GPU that waits.

One sentence keeps a GPU busy for less time than it takes to call the modules of six blocks. Here a block is
ten launches and nothing between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.accelerate.plain import Linear, Norm, Written, is_plain, is_plain_block, written
from regard.attention import Dot, Padding, ScaledDot
from regard.layers import Activation, EncoderBlock
from regard.layers.feedforward import activate
from regard.layers.stack import is_sharded

if TYPE_CHECKING:
    from regard.models.encoder import TransformerEncoder

DEVICES = ("cuda",)  # a processor that works itself does not wait

States = Float[Tensor, "batch length width"]


@final
@dataclass(frozen=True, eq=False)
class Block:
    """Attention and feed-forward, each behind a residual whose norm stands before or after."""

    norms: tuple[Norm, Norm]
    before: tuple[bool, bool]
    into: Linear  # queries, keys and values in one product
    out: Linear
    widen: Linear
    narrow: Linear
    heads: int
    scale: float
    activation: Activation

    @classmethod
    def of(cls, block: EncoderBlock, dtype: torch.dtype) -> Block:
        """The weights of a block, copied."""
        heads, feed = block.attention, block.feedforward
        residuals = (block.attention_residual, block.feedforward_residual)
        score = heads.attention.score
        assert isinstance(score, (Dot, ScaledDot))
        first, second = residuals
        return cls(
            norms=(Norm.of(dtype, first.norm), Norm.of(dtype, second.norm)),
            before=(first.order == "pre", second.order == "pre"),
            into=Linear.of(dtype, heads.query, heads.key, heads.value),
            out=Linear.of(dtype, heads.output),
            widen=Linear.of(dtype, feed.widen),
            narrow=Linear.of(dtype, feed.narrow),
            heads=heads.num_heads,
            scale=score.scale(heads.key_width),
            activation=feed.activation,
        )

    def __call__(self, states: States, sight: Tensor | None) -> States:
        """Each position reads all that is in sight, then thinks."""
        (first, second), (early, late) = self.norms, self.before
        found = self._read(_normed(states, first) if early else states, sight)
        states = states + found if early else _normed(states + found, first)
        opened = _normed(states, second) if late else states
        inner = activate(_mapped(opened, self.widen), self.activation)
        found = _mapped(inner, self.narrow)
        return states + found if late else _normed(states + found, second)

    def _read(self, opened: States, sight: Tensor | None) -> States:
        three = _mapped(opened, self.into).unflatten(-1, (3, self.heads, -1))
        query, key, value = three.permute(2, 0, 3, 1, 4).unbind(0)
        found = F.scaled_dot_product_attention(query, key, value, sight, scale=self.scale)
        return _mapped(found.transpose(1, 2).flatten(2), self.out)


@final
@dataclass(frozen=True, eq=False)
class _Copy:
    """The blocks of an encoder as they were when they were copied."""

    written: Written
    dtype: torch.dtype
    blocks: tuple[Block, ...]
    norm: Norm | None


_copies: WeakKeyDictionary[TransformerEncoder, _Copy] = WeakKeyDictionary()


def takes(encoder: TransformerEncoder, states: Tensor) -> bool:
    """Whether it pays and is the same: on a GPU, nothing to learn, full reach, plain blocks unwatched."""
    return (
        states.device.type in DEVICES
        and not torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
        and states.numel() > 0
        and encoder.mask is None
        and is_plain(encoder, _is_known)
    )


def _is_known(encoder: TransformerEncoder) -> bool:
    blocks = list(encoder.blocks)
    if any(map(is_sharded, blocks)):
        return False
    if encoder.norm is not None and encoder.norm.form != "standard":
        return False
    return all(
        is_plain_block(
            [block.attention],
            block.feedforward,
            [block.attention_residual, block.feedforward_residual],
        )
        for block in blocks
    )


def read(encoder: TransformerEncoder, states: States, padding: Padding | None) -> States:
    """What the blocks of an encoder that is taken, and its last norm, make of embedded words."""
    copy = _copy(encoder, states.dtype)
    sight = None if padding is None else _sight(padding, states)
    with torch.autocast(states.device.type, enabled=False):
        for block in copy.blocks:
            states = block(states, sight)
        return states if copy.norm is None else _normed(states, copy.norm)


def _copy(encoder: TransformerEncoder, dtype: torch.dtype) -> _Copy:
    now, copy = written(encoder), _copies.get(encoder)
    if copy is None or (copy.written, copy.dtype) != (now, dtype):
        blocks = tuple(Block.of(block, dtype) for block in encoder.blocks)
        norm = None if encoder.norm is None else Norm.of(dtype, encoder.norm)
        copy = _copies[encoder] = _Copy(now, dtype, blocks, norm)
    return copy


def _sight(padding: Padding, states: States) -> Float[Tensor, "batch 1 1 key"]:
    """What to add to scores; a row without words, which nobody will read, sees its first place."""
    void = Padding(padding.lengths.clamp(min=1)).unseen(states.shape[1])
    return states.new_zeros(void.shape).masked_fill_(void, -torch.inf)[:, None, None]


def _normed(states: Tensor, norm: Norm) -> Tensor:
    return torch.layer_norm(states, norm.weight.shape, norm.weight, norm.bias, norm.eps)


def _mapped(states: Tensor, linear: Linear) -> Tensor:
    return F.linear(states, linear.weight, linear.bias)
