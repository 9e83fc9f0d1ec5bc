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

from regard.accelerate.plain import Linear, Norm, is_plain, is_plain_block
from regard.attention import Added, Causal, Dot, Learned, ScaledDot
from regard.layers import Activation, DecoderBlock, LayerNorm
from regard.models import Decoder, TransformerDecoder


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
    return (
        isinstance(decoder, TransformerDecoder)
        and isinstance(decoder.mask, Causal)
        and is_plain(decoder, _is_known)
    )


def _is_known(decoder: TransformerDecoder) -> bool:
    blocks = list(decoder.blocks)
    if decoder.embedding.norm is not None or not blocks:
        return False
    norms = [block.feedforward_residual for block in blocks]
    if len({norm.order for norm in norms}) > 1:
        return False
    if (decoder.norm is None) != (norms[0].order == "post"):
        return False
    if decoder.norm is not None and decoder.norm.form != "standard":
        return False
    if type(decoder.output) is not nn.Linear or not all(map(_is_known_block, blocks)):
        return False
    shapes = {
        (heads.num_heads, heads.key_width, type(heads.attention.score))
        for block in blocks
        for heads in (block.attention, block.cross)
        if heads is not None
    }
    kinds = {block.feedforward.activation for block in blocks}
    return len(shapes) == 1 and len(kinds) == 1


def _is_known_block(block: DecoderBlock) -> bool:
    if block.cross is None or block.cross_residual is None:
        return False
    residuals = (block.attention_residual, block.cross_residual, block.feedforward_residual)
    return is_plain_block((block.attention, block.cross), block.feedforward, residuals)


def pack(decoder: TransformerDecoder, dtype: torch.dtype) -> Weights:
    """The weights of a decoder that `packs`, copied into this precision."""
    blocks = list(decoder.blocks)
    heads, post = blocks[0].attention, blocks[0].attention_residual.order == "post"
    crosses = [block.cross for block in blocks if block.cross is not None]
    score = heads.attention.score
    assert isinstance(score, (Dot, ScaledDot))
    wide = torch.promote_types(dtype, torch.float32)
    norms = [Norm.of(wide, norm) for block in blocks for norm in _norms(block)]
    reads: list[Norm | None] = [None, *norms[:-1]] if post else list(norms)
    last = norms[-1] if decoder.norm is None else Norm.of(wide, decoder.norm)
    output = Linear.of(dtype, decoder.output)
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
        memory=Linear.of(dtype, *(part for cross in crosses for part in (cross.key, cross.value))),
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
        recall=Linear.of(dtype, within.query, within.key, within.value),
        recalled=Linear.of(dtype, within.output),
        consult=Linear.of(dtype, cross.query),
        consulted=Linear.of(dtype, cross.output),
        widen=Linear.of(dtype, block.feedforward.widen),
        narrow=Linear.of(dtype, block.feedforward.narrow),
    )


def _norms(block: DecoderBlock) -> tuple[LayerNorm, LayerNorm, LayerNorm]:
    assert block.cross_residual is not None
    residuals = (block.attention_residual, block.cross_residual, block.feedforward_residual)
    first, second, third = (residual.norm for residual in residuals)
    return first, second, third


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
