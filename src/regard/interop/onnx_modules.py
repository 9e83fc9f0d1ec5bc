"""A model of ours as functions of tensors alone, which is what a graph can hold: encoding, a step, labels.

Caches are given and given back instead of being written to, tables of positions are constants, and weights of
attention are outputs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import final

import torch
from torch import Tensor, nn

from regard.attention import Added, Attention, Memory, Padding
from regard.attention.attention import Aligned
from regard.attention.position import Learned, Sinusoidal
from regard.interop.outline import LONGEST
from regard.models import Model
from regard.models.transformer_decoder import TransformerDecoder


@final
class Rows(Added):
    """A table of positions that is as long as it is: a graph cannot make it longer."""

    def __init__(self, rows: Tensor) -> None:
        super().__init__(rows.shape[1])
        self.register_buffer("rows", rows.detach().clone())
        self.rows: Tensor

    def table(self, length: int, first: int = 0) -> Tensor:
        """By index, so that both may be known only when the graph runs."""
        return self.rows[torch.arange(length) + first]


def ready(model: Model) -> Model:
    """A copy in which every table of positions is a constant."""
    model = copy.deepcopy(model).float().eval().requires_grad_(False)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, Learned):
                setattr(parent, name, Rows(child.weight))
            elif isinstance(child, Sinusoidal):
                setattr(parent, name, Rows(child.table(LONGEST)))
    return model


@contextmanager
def weights_shown(module: nn.Module) -> Iterator[list[tuple[str, Tensor]]]:
    """Every attention reads by the weights that it shows, so that a graph works them out once."""
    shown: list[tuple[str, Tensor]] = []
    own = [one for one in module.modules() if isinstance(one, Attention)]

    def watcher(attention: Attention) -> Callable[[Aligned], Tensor]:
        def see(aligned: Aligned) -> Tensor:
            site = attention.site
            assert site is not None, "models that are built from settings declare their sites"
            shown.append((f"{site.role}.{site.layer}.weights", aligned.weights))
            return aligned.weights

        return see

    try:
        for one in own:
            one.watcher = watcher(one)
        yield shown
    finally:
        for one in own:
            one.watcher = None


@final
class Encoding(nn.Module):
    """Source -> what each layer of the decoder reads of it, and the encoder's weights."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.encoder, self.reader = model.encoder, model.reader

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        """Keys and values layer by layer, then weights."""
        assert self.encoder is not None
        assert isinstance(self.reader, TransformerDecoder)
        with weights_shown(self.encoder) as shown:
            encoded = self.encoder(source, Padding(lengths))
        memories = [b.cross.remember(encoded.states, encoded.padding) for b in self.reader.blocks]  # type: ignore[union-attr]
        pairs = [part for memory in memories for part in (memory.key, memory.value)]
        return (*pairs, *(weights for _, weights in shown))


@final
class Step(nn.Module):
    """Symbols -> logits after each, by what was said before and what there is of the source."""

    def __init__(self, reader: TransformerDecoder) -> None:
        super().__init__()
        self.reader = reader
        self.reads = next(iter(reader.blocks)).cross is not None

    def forward(self, tokens: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        """Logits, the caches after these symbols, then weights."""
        layers = len(self.reader.blocks)
        caches, rest = rest[: 2 * layers], rest[2 * layers :]
        padding = Padding(rest[0]) if self.reads else None
        sources = rest[1:]
        first = caches[0].shape[2]
        states = self.reader.embedding(tokens, first)
        grown: list[Tensor] = []
        with weights_shown(self.reader) as shown:
            for layer, block in enumerate(self.reader.blocks):
                opened = block.attention_residual.open(states)
                key, value = block.attention._ready(
                    block.attention.key(opened), block.attention.value(opened), first
                )
                key = block.attention.attention.score.prepare(key, first)
                key = torch.cat([caches[2 * layer], key], 2)
                value = torch.cat([caches[2 * layer + 1], value], 2)
                memory = Memory(key, value, self.reader.mask, first=first)
                read = block.attention(opened, memory)
                states = block.attention_residual.close(states, read)
                source = None
                if sources:
                    source = Memory(sources[2 * layer], sources[2 * layer + 1], padding)
                states = block._rest(states, source)
                grown += [key, value]
        states = states if self.reader.norm is None else self.reader.norm(states)
        return (self.reader.output(states), *grown, *(weights for _, weights in shown))


@final
class Labels(nn.Module):
    """Source -> logits of labels, and all weights."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        """Logits, then weights."""
        with weights_shown(self.model) as shown:
            logits = self.model(source, lengths)
        return (logits, *(weights for _, weights in shown))
