"""What the portable benchmark runs on: a device, and the models and texts whose sizes suit it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Room
from regard.data.batches import BatchSettings
from regard.models import (
    Model,
    ModelSettings,
    RnnEncoderSettings,
    RnnReaderSettings,
    Sizes,
    TransformerReaderSettings,
    TransformerSettings,
    build,
)
from regard.tasks import IGNORE, TASKS, Batch, Task
from regard.tasks.batch import joined
from regard.text import Codec, TextSettings
from regard.training.feed import plan_for

Family = Literal["transformer", "rnn"]


@final
@dataclass(frozen=True)
class Scene:
    """A device, and how large a model and how many tokens make a fair measurement on it."""

    device: torch.device
    quick: bool = False

    @property
    def on_gpu(self) -> bool:
        """Whether calls return before the work is done, and half precision is the rule."""
        return self.device.type == "cuda"

    @property
    def width(self) -> int:
        """Of every state."""
        return 512 if self.on_gpu else 256

    @property
    def heads(self) -> int:
        """Each 64 wide."""
        return self.width // 64

    @property
    def layers(self) -> int:
        """On each side."""
        return 6 if self.on_gpu else 3

    @property
    def inner(self) -> int:
        """Of the feed-forward part."""
        return 4 * self.width

    @property
    def symbols(self) -> int:
        """In the vocabulary."""
        return 32_768 if self.on_gpu else 8_000

    @property
    def tokens(self) -> int:
        """Places of a training batch."""
        return 16_384 if self.on_gpu else 1_024

    @property
    def seconds(self) -> float:
        """How long one comparison may take."""
        return 2.0 if self.quick else 6.0

    @property
    def rounds(self) -> int:
        """How many turns each work gets, time permitting."""
        return 5 if self.quick else 15

    @property
    def kind(self) -> torch.dtype:
        """The numbers that are multiplied."""
        return torch.bfloat16 if self.on_gpu else torch.float32

    def precision(self) -> AbstractContextManager[Any]:
        """As training computes here."""
        return torch.autocast("cuda", torch.bfloat16) if self.on_gpu else nullcontext()

    def model(self, family: Family) -> Model:
        """A translation model with first weights."""
        torch.manual_seed(1)
        encoder: TransformerSettings | RnnEncoderSettings
        reader: TransformerReaderSettings | RnnReaderSettings
        if family == "rnn":
            encoder = RnnEncoderSettings(width=self.width, dropout=0.0)
            reader = RnnReaderSettings(width=self.width, dropout=0.0)
        else:
            sizes = {
                "width": self.width,
                "heads": self.heads,
                "layers": self.layers,
                "feedforward": self.inner,
            }
            encoder = TransformerSettings.model_validate({**sizes, "dropout": 0.0})
            reader = TransformerReaderSettings.model_validate({**sizes, "dropout": 0.0})
        sizes_of = Sizes(self.symbols, self.symbols, begin=1, end=2, shared=True)
        return build(ModelSettings(encoder=encoder, reader=reader), sizes_of).to(self.device)

    @cached_property
    def task(self) -> Task:
        """Its vocabulary is not used: the texts below are numbers from the start."""
        words = Codec.train(["a"], TextSettings(kind="word"))
        return next(iter(TASKS.values())).from_dict({"shared": words.to_json()})

    def batches(self, count: int, *, packed: bool = False) -> list[Batch]:
        """Sentences of lengths as languages have them, put together as training puts them together."""
        draw = np.random.default_rng(1)
        lengths = draw.lognormal(3.0, 0.5, (200 * count, 1)) * draw.lognormal(0.0, 0.2, (1, 2))
        sides = np.clip(lengths, 1, 100).astype(np.int32).T
        settings = BatchSettings(tokens=self.tokens, max_length=128, packed=packed)
        plan = plan_for(self.task, lambda name: sides[int(name == "target")], settings, seed=1)
        made = []
        for piece in list(plan.epoch(0))[:count]:
            rows = [self._row(draw, sides[:, row]) for row in piece.rows]
            shape = piece.source_length, piece.target_length
            if piece.packed:
                room = Room(piece.packed, piece.tiles)
                batch = self.task.pack(joined(rows), shape, room, settings.max_length)
            else:
                batch = self.task.collate(rows, *shape)
            made.append(batch.to(self.device))
        return made

    def _row(self, draw: np.random.Generator, lengths: np.ndarray) -> dict[str, np.ndarray]:
        source, target = (draw.integers(3, self.symbols, size, np.int32) for size in lengths)
        return {"source": source, "target": target}


# What torch itself brings, of the same size: the models that everything here is compared with.


class TorchTransformer(nn.Module):
    """`nn.Transformer` between an embedding and its transpose; it cannot be looked into, and has no cache."""

    def __init__(self, scene: Scene) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.embedding = nn.Embedding(scene.symbols, scene.width)
        nn.init.normal_(self.embedding.weight, std=scene.width**-0.5)
        sizes = (scene.width, scene.heads, scene.inner, 0.0)
        below = nn.TransformerEncoderLayer(*sizes, batch_first=True, norm_first=True)
        encoder = nn.TransformerEncoder(
            below, scene.layers, nn.LayerNorm(scene.width), enable_nested_tensor=False
        )
        self.body = nn.Transformer(
            scene.width,
            scene.heads,
            num_decoder_layers=scene.layers,
            dim_feedforward=scene.inner,
            dropout=0.0,
            custom_encoder=encoder,
            batch_first=True,
            norm_first=True,
        )
        self.to(scene.device)

    def encode(self, source: Int[Tensor, "batch source"]) -> Float[Tensor, "batch source width"]:
        """States of a source without padding."""
        states: Tensor = self.body.encoder(self.embedding(source))
        return states

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        lengths: Int[Tensor, " batch"] | None,
        inputs: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target symbols"]:
        """Logits, as our models give them."""
        padding = None
        if lengths is not None:
            padding = torch.arange(source.shape[1], device=source.device) >= lengths.unsqueeze(1)
        states = self.body(
            self.embedding(source),
            self.embedding(inputs),
            tgt_mask=self._causal(inputs),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return F.linear(states, self.embedding.weight)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        """Summed over the targets, with the smoothing that training has by default."""
        assert batch.inputs is not None
        logits = self(batch.source, batch.lengths, batch.inputs).float()
        return F.cross_entropy(
            logits.flatten(0, 1),
            batch.targets.flatten(),
            ignore_index=IGNORE,
            reduction="sum",
            label_smoothing=0.1,
        )

    def greedy(self, source: Int[Tensor, "batch source"], steps: int) -> Int[Tensor, "batch steps"]:
        """Symbol after symbol; each step computes all earlier ones again."""
        states = self.encode(source)
        words = torch.ones(len(source), 1, dtype=torch.long, device=source.device)
        for _ in range(steps):
            last = self.body.decoder(
                self.embedding(words), states, tgt_mask=self._causal(words), tgt_is_causal=True
            )[:, -1]
            words = torch.cat([words, F.linear(last, self.embedding.weight).argmax(-1, True)], 1)
        return words[:, 1:]

    def _causal(self, inputs: Tensor) -> Tensor:
        return nn.Transformer.generate_square_subsequent_mask(
            inputs.shape[1], device=inputs.device, dtype=self.embedding.weight.dtype
        )
