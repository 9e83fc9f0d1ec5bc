"""What torch itself brings, of the same size: the models that everything here is compared with."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.measure.scene import Scene
from regard.tasks import IGNORE, Batch


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
        said = torch.ones(len(source), 1, dtype=torch.long, device=source.device)
        for _ in range(steps):
            last = self.body.decoder(
                self.embedding(said), states, tgt_mask=self._causal(said), tgt_is_causal=True
            )[:, -1]
            said = torch.cat([said, F.linear(last, self.embedding.weight).argmax(-1, True)], 1)
        return said[:, 1:]

    def _causal(self, inputs: Tensor) -> Tensor:
        return nn.Transformer.generate_square_subsequent_mask(
            inputs.shape[1], device=inputs.device, dtype=self.embedding.weight.dtype
        )
