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
from torch import Tensor

from regard.accelerate.plain import (
    Attending,
    Block,
    Linear,
    Norm,
    is_only_read,
    is_plain,
    residuals_of,
)
from regard.attention import Added, Learned
from regard.models import Decoder, TransformerDecoder


@final
@dataclass(frozen=True, eq=False)
class Weights:
    """All of a decoder that a step needs, in the precision it computes in.

    `reads` has, for the three sub-layers of every block, the norm to read the stream through.
    """

    table: Float[Tensor, "vocabulary width"]
    embedding_scale: float
    position: Added | None
    blocks: tuple[Block, ...]
    reads: tuple[Norm | None, ...]
    memory: Linear  # keys and values of the source, those of all blocks by one product
    final: Norm
    output: Linear
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
        vectors = self.table.new_zeros(length, width, dtype=self.stream_dtype)
        if self.position is not None:
            known = length
            if isinstance(self.position, Learned):
                known = min(length, len(self.position.weight))
            vectors[:known] = self.position.table(known)
        return vectors

    def tensors(self) -> Iterator[Tensor]:
        """Every tensor, in a fixed order."""
        trees = (self.table, self.blocks, self.reads, self.memory, self.final, self.output)
        yield from _tensors(trees)


def packs(decoder: Decoder[Any]) -> bool:
    """Whether this is a plain decoder that reads a source, in blocks of one order, with nobody watching."""
    if not isinstance(decoder, TransformerDecoder) or decoder.embedding.norm is not None:
        return False
    if not is_plain(decoder) or not is_only_read(decoder):
        return False
    blocks = list(decoder.blocks)
    orders = {residual.order for block in blocks for residual in residuals_of(block)}
    if len(orders) > 1 or any(block.cross is None for block in blocks):
        return False
    return (decoder.norm is None) == (orders == {"post"})


def pack(decoder: TransformerDecoder, dtype: torch.dtype) -> Weights:
    """The weights of a decoder that `packs`, copied into this precision."""
    wide = torch.promote_types(dtype, torch.float32)
    blocks = tuple(Block.of(dtype, block, wide) for block in decoder.blocks)
    post = not blocks[0].before[0]
    norms = [norm for block in blocks for norm in block.norms]
    reads: list[Norm | None] = [None, *norms[:-1]] if post else list(norms)
    crosses = [block.cross for block in decoder.blocks if block.cross is not None]
    output = Linear.of(dtype, decoder.output)
    table = decoder.embedding.table.weight
    tied = decoder.output.weight is table
    return Weights(
        table=output.weight if tied else table.detach().to(dtype, copy=True),
        embedding_scale=decoder.embedding.scale,
        position=decoder.embedding.position,
        blocks=blocks,
        reads=tuple(reads),
        memory=Linear.of(dtype, *(part for cross in crosses for part in (cross.key, cross.value))),
        final=norms[-1] if decoder.norm is None else Norm.of(wide, decoder.norm),
        output=output,
        is_post=post,
        begin=decoder.begin,
        end=decoder.end,
    )


def _tensors(tree: Any) -> Iterator[Tensor]:
    match tree:
        case Tensor():
            yield tree
        case tuple():
            for leaf in tree:
                yield from _tensors(leaf)
        case Linear() | Norm() | Attending() | Block():
            yield from _tensors(tuple(vars(tree).values()))
        case _:
            return
