"""A decoder's weights, packed once for stepping, and everything that a search changes, of fixed size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, final

import torch
from jaxtyping import Bool, Float, Int
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
from regard.decode.hypothesis import divisor
from regard.models import Decoder, TransformerDecoder
from regard.settings.decode import DecodeSettings


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
    if decoder.embedding.unknown is not None:  # it reads symbols behind the vocabulary
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


# Everything a search changes, as tensors of fixed size: a step reads and writes these and nothing else.
# Rows are sentences, slots are the places of the beam. Keys and values are never moved when the beam turns
# over: `ancestors[row, slot, position]` names the slot that held this hypothesis at that position.

ENDED, ALIVE = 1, 2  # the fate of a slot at a step; 0 is nothing at all


@final
@dataclass(frozen=True)
class Shape:
    """How much a state has room for."""

    rows: int
    slots: int
    positions: int
    sources: int


@final
@dataclass(frozen=True, eq=False)
class State:
    """The beam, its caches, its rules, and the record from which hypotheses are read at the end."""

    tokens: Int[Tensor, "rows slots"]
    position: Int[Tensor, " rows"]
    is_open: Bool[Tensor, " rows"]
    totals: Float[Tensor, "rows slots"]
    finished: Float[Tensor, "rows slots"]
    ancestors: Int[Tensor, "rows slots positions"]
    caches: tuple[
        Float[Tensor, "2 rows positions slots _ _"], ...
    ]  # a block has its heads and widths
    memory: Float[Tensor, "rows sources _"]  # keys, then values, of block after block
    lengths: Int[Tensor, " rows"]
    places: Float[Tensor, "positions model"]
    rules: Int[Tensor, " three"]  # min_length, max_length, top_beams
    divisors: Float[Tensor, " lengths"]  # of length 1, 2, ..; the last is that of max_length
    parents: Int[Tensor, "positions rows slots"]
    chosen: Int[Tensor, "positions rows slots"]
    reached: Float[Tensor, "positions rows slots"]
    added: Float[Tensor, "positions rows slots"]
    fate: Int[Tensor, "positions rows slots"]

    @classmethod
    def room(cls, weights: Weights, shape: Shape) -> State:
        """A state of this shape with nothing in it."""
        device, exact = weights.table.device, weights.stream_dtype
        rows, slots, positions = shape.rows, shape.slots, shape.positions
        within = [block.within for block in weights.blocks]

        def zeros(*sizes: int, dtype: torch.dtype = torch.int32) -> Tensor:
            return torch.zeros(sizes, dtype=dtype, device=device)

        return cls(
            tokens=zeros(rows, slots),
            position=zeros(rows),
            is_open=zeros(rows, dtype=torch.bool),
            totals=zeros(rows, slots, dtype=exact),
            finished=zeros(rows, slots, dtype=exact),
            ancestors=zeros(rows, slots, positions),
            caches=tuple(
                zeros(2, rows, positions, slots, one.heads, one.width, dtype=weights.dtype)
                for one in within
            ),
            memory=zeros(rows, shape.sources, len(weights.memory.weight), dtype=weights.dtype),
            lengths=zeros(rows),
            places=zeros(positions, weights.table.shape[1], dtype=exact),
            rules=zeros(3),
            divisors=zeros(positions + 1, dtype=torch.float32),
            parents=zeros(positions, rows, slots),
            chosen=zeros(positions, rows, slots),
            reached=zeros(positions, rows, slots, dtype=exact),
            added=zeros(positions, rows, slots, dtype=exact),
            fate=zeros(positions, rows, slots, dtype=torch.int8),
        )

    @property
    def shape(self) -> Shape:
        """How much there is room for."""
        rows, slots, positions = self.ancestors.shape
        return Shape(rows, slots, positions, self.memory.shape[1])

    @property
    def bytes(self) -> int:
        """How much memory all of it takes."""
        own = (getattr(self, part.name) for part in fields(self) if part.name != "caches")
        return sum(tensor.nbytes for tensor in (*own, *self.caches))

    def memory_of(
        self, weights: Weights, number: int
    ) -> Float[Tensor, "rows sources 2 heads width"]:
        """Keys and values of the source for one block."""
        sizes = [2 * one.heads * one.width for one in map(_cross, weights.blocks)]
        cross, first = _cross(weights.blocks[number]), sum(sizes[:number])
        part = self.memory[:, :, first : first + sizes[number]]
        return part.unflatten(-1, (2, cross.heads, cross.width))

    def begin(
        self,
        weights: Weights,
        states: Float[Tensor, "batch source width"],
        lengths: Int[Tensor, " batch"],
        settings: DecodeSettings,
    ) -> None:
        """Before the first step: all slots are alike, so only the first counts; spare rows are closed."""
        batch, sources = states.shape[:2]
        self.tokens.fill_(weights.begin)
        self.position.zero_()
        self.is_open.zero_()
        self.is_open[:batch] = True
        self.totals.fill_(-torch.inf)
        self.totals[:batch, 0] = 0.0
        self.finished.fill_(-torch.inf)
        self.lengths.zero_()
        self.lengths[:batch] = lengths
        self.memory[:batch, :sources] = torch.nn.functional.linear(
            states.to(weights.dtype), weights.memory.weight, weights.memory.bias
        )
        self.rule(weights, settings)

    def rule(self, weights: Weights, settings: DecodeSettings) -> None:
        """Positions and rules, which belong to no row."""
        self.places.copy_(weights.places(len(self.places)))
        self.rules.copy_(
            torch.tensor([settings.min_length, settings.max_length, settings.top_beams])
        )
        lengths = torch.arange(1, len(self.divisors) + 1)
        lengths[-1] = settings.max_length
        self.divisors.copy_(torch.as_tensor(divisor(lengths, settings.penalty, settings.alpha)))

    def take(self, other: State, rows: Int[Tensor, " rows"], position: int) -> None:
        """Go on with these rows of another state, `position` steps on; the record starts anew."""
        count = len(rows)
        for name in ("tokens", "position", "is_open", "totals", "finished", "lengths"):
            getattr(self, name)[:count] = getattr(other, name)[rows]
        self.is_open[count:] = False
        self.totals[count:] = -torch.inf
        self.lengths[count:] = 0
        self.position[count:] = position
        self.ancestors[:count, :, :position] = other.ancestors[rows, :, :position]
        for own, before in zip(self.caches, other.caches, strict=True):
            own[:, :count, :position] = before[:, rows, :position]
        sources = min(self.memory.shape[1], other.memory.shape[1])
        self.memory[:count, :sources] = other.memory[rows, :sources]


def _cross(block: Block) -> Attending:
    assert block.cross is not None
    return block.cross
