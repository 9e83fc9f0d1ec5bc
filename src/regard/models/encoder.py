"""The first half of a model: a front-end turns a source into states, and layers let them read each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Mask, Packed, Padding, Segments
from regard.errors import UsageError, kind_of
from regard.layers import (
    Embedded,
    Embedding,
    EncoderBlock,
    FrontEnd,
    LayerNorm,
    Recurrent,
    Source,
    Stack,
    narrowed,
)
from regard.layers.block import stack_form


@final
@dataclass(frozen=True, eq=False)
class Encoded:
    """The states of a source, which of them are real, and each recurrent layer's last one.

    Packed sources share one row, and `segments` tells them apart. States of a picture lie in a grid, column
    after column, `rows` to a column. Of several sources, `parts` holds each by its name, and the other fields
    are those of the first. `ids` are the symbols of a text, for those who copy them.
    """

    states: Float[Tensor, "batch source width"]
    padding: Padding | None = None
    layers: tuple[Float[Tensor, "batch width"], ...] = ()
    segments: Segments | None = None
    rows: int = 1
    parts: Mapping[str, Encoded] = field(default_factory=dict)
    ids: Int[Tensor, "batch source"] | None = None

    @classmethod
    def several(cls, parts: Mapping[str, Encoded]) -> Encoded:
        """Several sources by name, in the order in which the reader knows them."""
        first = next(iter(parts.values()))
        return replace(first, parts=dict(parts))

    @classmethod
    def nothing(cls, batch: int, like: Tensor) -> Encoded:
        """No source at all: what a language model reads."""
        return cls(like.new_zeros(batch, 0, 1))

    def summaries(self, count: int) -> tuple[Float[Tensor, "batch width"], ...]:
        """One vector for each of `count` layers: the last hidden states, or else the mean state (L11)."""
        if self.parts:
            several = [part.summaries(count) for part in self.parts.values()]
            return tuple(torch.cat(layer, -1) for layer in zip(*several, strict=True))
        if len(self.layers) == count:
            return self.layers
        if self.layers:
            return (self.layers[-1],) * count
        return (mean_state(self.states, self.padding),) * count


def mean_state(
    states: Float[Tensor, "batch source width"], padding: Padding | None
) -> Float[Tensor, "batch width"]:
    """The mean over the real positions; zeros where there are none."""
    if padding is None:
        return states.mean(1) if states.shape[1] else states.sum(1)
    void = padding.unseen(states.shape[1])
    total = states.masked_fill(void.unsqueeze(-1), 0.0).sum(1)
    return total / padding.lengths.clamp(min=1).unsqueeze(-1).to(states.dtype)


class Encoder(nn.Module, ABC):
    """Turns a source into states of `width`."""

    def __init__(self, embedding: FrontEnd, width: int) -> None:
        super().__init__()
        self.embedding, self.width = embedding, width

    def embed(self, source: Source, padding: Padding | None) -> Embedded:
        """What the front-end makes of the source; void frames are zeroed first, since NaN times 0 is NaN."""
        if padding is not None:
            void = padding.unseen(source.shape[1])
            source = source.masked_fill(void if source.dim() == 2 else void.unsqueeze(-1), 0)
        # Pixels are stored and sent as bytes; a share of 255 is what a front-end reads.
        frames = source / 255 if source.dtype == torch.uint8 else source
        return self.embedding.read(frames, padding)

    def states_of(self, length: int) -> int:
        """How many states a source of this length becomes."""
        return self.embedding.states_of(length)

    @abstractmethod
    def forward(self, source: Source, padding: Padding | None = None) -> Encoded:
        """The states of a batch of sources, padded on the right."""


@final
class FrontEncoder(Encoder):
    """What the front-end gives, as it is: each state knows its own region alone (Xu 2015)."""

    def forward(self, source: Source, padding: Padding | None = None) -> Encoded:
        """One state a region."""
        embedded = self.embed(source, padding)
        return Encoded(embedded.states, embedded.padding, rows=embedded.rows)


@final
class RnnEncoder(Encoder):
    """Reads the source word by word, in one direction or two (L11); a pyramid has fewer states."""

    def __init__(self, embedding: FrontEnd, recurrent: Recurrent, width: int) -> None:
        super().__init__(embedding, width)
        self.recurrent = recurrent

    def forward(self, source: Source, padding: Padding | None = None) -> Encoded:
        """One state a word, and the last state of each layer."""
        embedded = self.embed(source, padding)
        lengths = None if embedded.padding is None else embedded.padding.lengths
        states, layers = self.recurrent(embedded.states, lengths)
        padding = embedded.padding
        if lengths is not None and self.recurrent.pyramid:
            padding = Padding(self.recurrent.states_of(lengths))
        return Encoded(states, padding, layers, rows=embedded.rows)

    def states_of(self, length: int) -> int:
        """As many as are left on top of the pyramid."""
        return self.recurrent.states_of(super().states_of(length))


@final
class TransformerEncoder(Encoder):
    """Every word reads every other, layer after layer (L66)."""

    def __init__(
        self,
        embedding: FrontEnd,
        blocks: Stack[EncoderBlock],
        norm: LayerNorm | None,
        width: int,
        mask: Mask | None = None,
    ) -> None:
        super().__init__(embedding, width)
        self.blocks, self.norm, self.mask = blocks, norm, mask

    def forward(self, source: Source, padding: Padding | None = None) -> Encoded:
        """One state a word; `mask` bounds how far each may look."""
        embedded = self.embed(source, padding)
        states, padding = narrowed(embedded.states), embedded.padding
        return Encoded(self._read(states, padding), padding, rows=embedded.rows)

    def forward_packed(self, source: Int[Tensor, "1 places"], segments: Segments) -> Encoded:
        """Many sources in one row, each for itself."""
        assert isinstance(self.embedding, Embedding), "frames are not packed"
        states = narrowed(self.embedding(source, segments=segments))
        return Encoded(self._read(states, Packed(segments, segments)), segments=segments)

    def _read(self, states: Tensor, real: Mask | None) -> Tensor:
        mask = real if self.mask is None else self.mask & real
        form = stack_form(self, states, mask)
        if form is not None:
            return form.run(self, states, mask, ())
        for block in self.blocks:
            states = block(states, mask)
        return states if self.norm is None else self.norm(states)


@final
class Padded(NamedTuple):
    """A batch of one source, filled up on the right, and how much of each row is real; None: all of it."""

    values: Source
    lengths: Int[Tensor, " batch"] | None = None


def padding_of(source: Source, lengths: Tensor | None) -> Padding | None:
    """The padding of a batch; none when every row is full, as far as the caller knows."""
    return None if lengths is None else Padding(lengths.to(device=source.device, dtype=torch.long))


def require_encoded(given: object) -> Encoded:
    """What an encoder gave, to be searched in; anything else is refused."""
    if not isinstance(given, Encoded):
        raise UsageError(
            f"a search reads what an encoder gave, and this is {kind_of(given)}",
            where="encoded",
            remedy="give model.encode(source, lengths); for text, regard.load(...).translate(text)",
        )
    return given
