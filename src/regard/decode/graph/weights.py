"""A Transformer decoder's weights, packed once for stepping: what is multiplied together lies together.

A block has three sub-layers, each `stream + f(norm(stream))`. Post-norm is told the same way: its norm moves
to the sub-layer that reads next, and the sum starts from the normalised stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import Added, Attention, Causal, Dot, Heads, Learned, ScaledDot, Softmax
from regard.layers import Activation, DecoderBlock, LayerNorm
from regard.models import Decoder, TransformerDecoder


@final
@dataclass(frozen=True, eq=False)
class Linear:
    """W x + b."""

    weight: Float[Tensor, "out into"]
    bias: Float[Tensor, " out"] | None


@final
@dataclass(frozen=True, eq=False)
class Norm:
    """Gain, shift, and the least variance."""

    weight: Float[Tensor, " width"]
    bias: Float[Tensor, " width"]
    eps: float


@final
@dataclass(frozen=True, eq=False)
class Layer:
    """Three sub-layers: recall what was said, consult the source, think. Each has a norm to read through."""

    norms: tuple[Norm | None, Norm, Norm]
    recall: Linear  # query, key and value in one product
    recalled: Linear
    consult: Linear  # the query alone: keys and values are worked out once, for all layers together
    consulted: Linear
    widen: Linear
    narrow: Linear


@final
@dataclass(frozen=True, eq=False)
class Weights:
    """All of a decoder that a step needs, in the precision it computes in."""

    table: Float[Tensor, "vocabulary width"]
    embedding_scale: float
    position: Added | None
    layers: tuple[Layer, ...]
    memory: Linear
    final: Norm
    output: Linear
    heads: int
    head_width: int
    score_scale: float
    activation: Activation
    is_post: bool
    begin: int
    end: int

    @property
    def dtype(self) -> torch.dtype:
        """The precision of products; the stream between them is at least float32."""
        return self.table.dtype

    @property
    def stream_dtype(self) -> torch.dtype:
        """What sums are kept in."""
        return torch.promote_types(self.dtype, torch.float32)

    def places(self, length: int) -> Float[Tensor, "length width"]:
        """The vectors of the first `length` positions; zeros past the end of a learned table."""
        width = self.table.shape[1]
        found = self.table.new_zeros(length, width, dtype=self.stream_dtype)
        if self.position is not None:
            known = length
            if isinstance(self.position, Learned):
                known = min(length, len(self.position.weight))
            found[:known] = self.position.table(known)
        return found

    def tensors(self) -> Iterator[Tensor]:
        """Every tensor, in a fixed order."""
        yield from _tensors((self.table, self.layers, self.memory, self.final, self.output))


def packs(decoder: Decoder[Any]) -> bool:
    """Whether this decoder is the plain kind: dot products, softmax, causal, heads alike, nobody watching."""
    if not isinstance(decoder, TransformerDecoder) or decoder.training:
        return False
    embedding, blocks = decoder.embedding, list(decoder.blocks)
    if not isinstance(decoder.mask, Causal) or embedding.norm is not None or not blocks:
        return False
    norms = [block.feedforward_residual for block in blocks]
    if len({norm.order for norm in norms}) > 1:
        return False
    if (decoder.norm is None) != (norms[0].order == "post"):
        return False
    if decoder.norm is not None and decoder.norm.form != "standard":
        return False
    if type(decoder.output) is not nn.Linear or not all(_plain_block(block) for block in blocks):
        return False
    shapes = {
        (heads.num_heads, heads.key_width, heads.value_width, type(heads.attention.score))
        for block in blocks
        for heads in (block.attention, block.cross)
        if heads is not None
    }
    kinds = {block.feedforward.activation for block in blocks}
    return len(shapes) == 1 and len(kinds) == 1 and all(shape[1] == shape[2] for shape in shapes)


def _plain_block(block: DecoderBlock) -> bool:
    if block.cross is None or block.cross_residual is None:
        return False
    residuals = (block.attention_residual, block.cross_residual, block.feedforward_residual)
    linears = (block.feedforward.widen, block.feedforward.narrow)
    return (
        all(residual.norm.form == "standard" for residual in residuals)
        and all(_plain_heads(heads) for heads in (block.attention, block.cross))
        and all(type(linear) is nn.Linear for linear in linears)
    )


def _plain_heads(heads: Heads) -> bool:
    attention: Attention = heads.attention
    linears = (heads.query, heads.key, heads.value, heads.output)
    return (
        isinstance(attention.score, (Dot, ScaledDot))
        and isinstance(attention.normaliser, Softmax)
        and attention.bias is None
        and attention.watcher is None
        and heads.position is None
        and heads.gate is None
        and all(type(linear) is nn.Linear for linear in linears)
    )


def pack(decoder: TransformerDecoder, dtype: torch.dtype) -> Weights:
    """The weights of a decoder that `packs`, copied into this precision."""
    blocks = list(decoder.blocks)
    heads, post = blocks[0].attention, blocks[0].attention_residual.order == "post"
    crosses = [block.cross for block in blocks if block.cross is not None]
    score = heads.attention.score
    assert isinstance(score, (Dot, ScaledDot))
    wide = torch.promote_types(dtype, torch.float32)
    norms = [_norm(norm, wide) for block in blocks for norm in _norms(block)]
    reads: list[Norm | None] = [None, *norms[:-1]] if post else list(norms)
    last = norms[-1] if decoder.norm is None else _norm(decoder.norm, wide)
    output = _linear(dtype, decoder.output)
    table = decoder.embedding.table.weight
    tied = decoder.output.weight is table
    return Weights(
        table=output.weight if tied else table.detach().to(dtype, copy=True),
        embedding_scale=decoder.embedding.scale,
        position=decoder.embedding.position,
        layers=tuple(
            _layer(block, reads[3 * number : 3 * number + 3], dtype)
            for number, block in enumerate(blocks)
        ),
        memory=_linear(dtype, *(part for cross in crosses for part in (cross.key, cross.value))),
        final=last,
        output=output,
        heads=heads.num_heads,
        head_width=heads.key_width,
        score_scale=score.scale(heads.key_width),
        activation=blocks[0].feedforward.activation,
        is_post=post,
        begin=decoder.begin,
        end=decoder.end,
    )


def _layer(block: DecoderBlock, norms: list[Norm | None], dtype: torch.dtype) -> Layer:
    within, cross = block.attention, block.cross
    assert cross is not None
    first, second, third = norms
    assert second is not None
    assert third is not None
    return Layer(
        norms=(first, second, third),
        recall=_linear(dtype, within.query, within.key, within.value),
        recalled=_linear(dtype, within.output),
        consult=_linear(dtype, cross.query),
        consulted=_linear(dtype, cross.output),
        widen=_linear(dtype, block.feedforward.widen),
        narrow=_linear(dtype, block.feedforward.narrow),
    )


def _norms(block: DecoderBlock) -> tuple[LayerNorm, LayerNorm, LayerNorm]:
    assert block.cross_residual is not None
    residuals = (block.attention_residual, block.cross_residual, block.feedforward_residual)
    first, second, third = (residual.norm for residual in residuals)
    return first, second, third


def _norm(norm: LayerNorm, dtype: torch.dtype) -> Norm:
    assert norm.weight is not None
    assert norm.bias is not None
    weight, bias = (tensor.detach().to(dtype, copy=True) for tensor in (norm.weight, norm.bias))
    return Norm(weight, bias, norm.eps)


def _linear(dtype: torch.dtype, *parts: nn.Linear) -> Linear:
    """These maps of one input as one, results side by side."""
    weight = torch.cat([part.weight.detach().to(dtype) for part in parts])
    if all(part.bias is None for part in parts):
        return Linear(weight, None)
    biases = [
        part.weight.new_zeros(len(part.weight)) if part.bias is None else part.bias.detach()
        for part in parts
    ]
    return Linear(weight, torch.cat(biases).to(dtype))


def _tensors(tree: Any) -> Iterator[Tensor]:
    match tree:
        case Tensor():
            yield tree
        case tuple():
            for leaf in tree:
                yield from _tensors(leaf)
        case Linear() | Norm() | Layer():
            yield from _tensors(tuple(vars(tree).values()))
        case _:
            return
