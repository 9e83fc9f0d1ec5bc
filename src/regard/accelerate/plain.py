"""What the fast forms of a model know: a plain Transformer, and its weights, laid together.

Weights are copied, so a form that keeps them must see when the encoder or decoder itself is trained on,
pruned, watched, hooked or rebuilt; and soon, because a GPU waits meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Causal, Dot, Heads, ScaledDot, Softmax
from regard.layers import DecoderBlock, EncoderBlock, LayerNorm, Residual
from regard.layers.block import is_sharded
from regard.models import TransformerDecoder, TransformerEncoder
from regard.settings.architecture import Activation

Written = tuple[tuple[int, int, torch.Size], ...]


def is_plain(side: nn.Module) -> bool:
    """Whether this is an encoder or a decoder of plain Transformer blocks: the one place that says so.

    Plain are dot products and softmax over full reach (causal in a decoder), heads whose keys are as wide
    as their values and that have no positions or biases of their own, norms with gain and shift, linear
    maps that are nothing else, one source at most, and no part taken away. Positions at the input, and the
    input itself, are not asked about. It is examined once, until one of its modules is another.
    """
    modules = _modules(side)
    known = _examined.get(side)
    if known is None or known.modules != modules:
        known = _Examined(modules, _is_plain(side))
        _examined[side] = known
    return known.plain


@final
@dataclass(frozen=True, eq=False)
class _Examined:
    """The modules that a side had when it was examined, and whether it was plain."""

    modules: list[nn.Module]
    plain: bool


_examined: WeakKeyDictionary[nn.Module, _Examined] = WeakKeyDictionary()


def _is_plain(side: nn.Module) -> bool:
    match side:
        case TransformerEncoder():
            reaches = side.mask is None
        case TransformerDecoder():
            reaches = isinstance(side.mask, Causal) and type(side.output) is nn.Linear
        case _:
            return False
    blocks: list[EncoderBlock | DecoderBlock] = list(side.blocks)
    has_standard_norm = side.norm is None or side.norm.form == "standard"
    return reaches and has_standard_norm and bool(blocks) and all(map(_is_plain_block, blocks))


def is_whole(block: EncoderBlock | DecoderBlock) -> bool:
    """Whether a block has all its parts: attention, feed-forward, and residuals that add and normalise."""
    residuals = (block.attention_residual, block.feedforward_residual)
    return (
        isinstance(block.attention, Heads)
        and block.feedforward is not None
        and all(one is not None and one.adds and one.norm is not None for one in residuals)
    )


def _is_plain_block(block: EncoderBlock | DecoderBlock) -> bool:
    if is_sharded(block) or (isinstance(block, DecoderBlock) and block.several is not None):
        return False
    if not is_whole(block) or block.feedforward is None:
        return False
    heads = heads_of(block)
    linears = [block.feedforward.widen, block.feedforward.narrow]
    for one in heads:
        linears += [one.query, one.key, one.value, one.output]
    return (
        all(type(linear) is nn.Linear for linear in linears)
        and all(norm.form == "standard" for norm in norms_of(block))
        and all(isinstance(one.attention.score, (Dot, ScaledDot)) for one in heads)
        and all(isinstance(one.attention.normaliser, Softmax) for one in heads)
        and all(one.attention.bias is None and one.position is None for one in heads)
        and all(one.key_width == one.value_width for one in heads)
    )


def heads_of(block: EncoderBlock | DecoderBlock) -> list[Heads]:
    """Its self-attention and, if it reads a source, its cross-attention."""
    cross = block.cross if isinstance(block, DecoderBlock) else None
    return [one for one in (block.attention, cross) if isinstance(one, Heads)]


def residuals_of(block: EncoderBlock | DecoderBlock) -> list[Residual]:
    """One around each sub-layer, in their order."""
    cross = block.cross_residual if isinstance(block, DecoderBlock) else None
    every = (block.attention_residual, cross, block.feedforward_residual)
    return [one for one in every if one is not None]


def norms_of(block: EncoderBlock | DecoderBlock) -> list[LayerNorm]:
    """The norm of each residual that has one."""
    return [one.norm for one in residuals_of(block) if one.norm is not None]


def is_only_read(side: nn.Module) -> bool:
    """Whether a side evaluates, and nobody watches it or waits at a hook: copies of it are then enough."""
    if side.training or has_hooks(side):
        return False
    heads = (module for module in _modules(side) if isinstance(module, Heads))
    return all(one.attention.watcher is None for one in heads)


def has_hooks(side: nn.Module) -> bool:
    """Whether somebody waits for a call of one of a side's modules."""
    return any(module._forward_hooks or module._forward_pre_hooks for module in _modules(side))


def written(side: nn.Module) -> Written:
    """Where each tensor of a side lies, how often it was written, and its shape."""
    tensors: list[Tensor] = [
        tensor
        for module in (side, *_modules(side))
        for tensor in module._parameters.values()
        if tensor is not None
    ]
    tensors += [module.gate for module in _modules(side) if isinstance(module, Heads)]
    return tuple(
        (one.data_ptr(), 0 if one.is_inference() else one._version, one.shape) for one in tensors
    )


def _modules(side: nn.Module) -> list[nn.Module]:
    """All but the side itself, which would keep itself alive; several times sooner than `side.modules()`."""
    modules = [part for part in side._modules.values() if part is not None]
    for module in modules:
        modules += [part for part in module._modules.values() if part is not None]
    return modules


@final
@dataclass(frozen=True, eq=False)
class Linear:
    """W x + b."""

    weight: Float[Tensor, "out into"]
    bias: Float[Tensor, " out"] | None

    @classmethod
    def of(cls, dtype: torch.dtype, *parts: nn.Linear) -> Linear:
        """These maps of one input as one, results side by side."""
        weight = torch.cat([part.weight.detach().to(dtype) for part in parts])
        if all(part.bias is None for part in parts):
            return cls(weight, None)
        biases = [
            part.weight.new_zeros(len(part.weight)) if part.bias is None else part.bias.detach()
            for part in parts
        ]
        return cls(weight, torch.cat(biases).to(dtype))

    @classmethod
    def gated(cls, dtype: torch.dtype, heads: Heads) -> Linear:
        """The map behind these heads, with their gates in it."""
        bias = heads.output.bias
        weight = heads.gated_output().detach().to(dtype)
        return cls(weight, None if bias is None else bias.detach().to(dtype, copy=True))


@final
@dataclass(frozen=True, eq=False)
class Norm:
    """Gain, shift, and the least variance."""

    weight: Float[Tensor, " width"]
    bias: Float[Tensor, " width"]
    eps: float

    @classmethod
    def of(cls, dtype: torch.dtype, norm: LayerNorm) -> Norm:
        """The standard form of a norm."""
        assert norm.weight is not None
        assert norm.bias is not None
        weight, bias = (tensor.detach().to(dtype, copy=True) for tensor in (norm.weight, norm.bias))
        return cls(weight, bias, norm.eps)


@final
@dataclass(frozen=True, eq=False)
class Attending:
    """The products around one attention: into queries (within one sequence keys and values too), and out."""

    into: Linear
    out: Linear
    heads: int
    width: int  # of one head
    scale: float

    @classmethod
    def of(cls, dtype: torch.dtype, heads: Heads, *, within: bool) -> Attending:
        """The weights of these heads, copied."""
        score = heads.attention.score
        assert isinstance(score, (Dot, ScaledDot))
        parts = (heads.query, heads.key, heads.value) if within else (heads.query,)
        return cls(
            into=Linear.of(dtype, *parts),
            out=Linear.gated(dtype, heads),
            heads=heads.num_heads,
            width=heads.key_width,
            scale=score.scale(heads.key_width),
        )


@final
@dataclass(frozen=True, eq=False)
class Block:
    """The weights of a plain block: `norms`, one a sub-layer, stand before it where `before` says so."""

    norms: tuple[Norm, ...]
    before: tuple[bool, ...]
    within: Attending
    cross: Attending | None
    widen: Linear
    narrow: Linear
    activation: Activation

    @classmethod
    def of(
        cls,
        dtype: torch.dtype,
        block: EncoderBlock | DecoderBlock,
        norm_dtype: torch.dtype | None = None,
    ) -> Block:
        """The weights of a plain block, copied into this precision."""
        cross = block.cross if isinstance(block, DecoderBlock) else None
        assert isinstance(block.attention, Heads)
        assert block.feedforward is not None
        return cls(
            norms=tuple(Norm.of(norm_dtype or dtype, norm) for norm in norms_of(block)),
            before=tuple(residual.order == "pre" for residual in residuals_of(block)),
            within=Attending.of(dtype, block.attention, within=True),
            cross=None if cross is None else Attending.of(dtype, cross, within=False),
            widen=Linear.of(dtype, block.feedforward.widen),
            narrow=Linear.of(dtype, block.feedforward.narrow),
            activation=block.feedforward.activation,
        )
