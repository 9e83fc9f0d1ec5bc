"""A model is encoders, one a source, and a reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Packing
from regard.errors import UsageError, kind_of
from regard.layers import Source
from regard.models.autoencoder import Bottleneck
from regard.models.decoder import Decoder, TokenDecoder
from regard.models.encoder import Encoded, Encoder, Padded, TransformerEncoder, padding_of
from regard.models.readers import Reader
from regard.models.transformer_decoder import TransformerDecoder
from regard.question import SOURCE

Sources = Mapping[str, Padded]
Noise = Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor]]  # of ids and their lengths


@final
class Model(nn.Module):
    """Each encoder turns one source into states; the reader tags, pools, decodes or points at them.

    Nearly every model has one source, and its encoder is `encoder`. Of several, each has an encoder in
    `sources` under its name. A language model has none. While learning, each of several sources is left out
    of a row as often as `source_dropout` says, but never the last one that it has; `noise` corrupts what an
    only source says. A `bottleneck` narrows what a decoder without attention knows of it.
    """

    def __init__(
        self,
        encoder: Encoder | Mapping[str, Encoder] | None,
        reader: Reader,
        source_dropout: float = 0.0,
        noise: Noise | None = None,
        bottleneck: Bottleneck | None = None,
    ) -> None:
        super().__init__()
        self.source_dropout, self.noise = source_dropout, noise
        self.encoder = encoder if isinstance(encoder, Encoder) else None
        self.sources = nn.ModuleDict(encoder if isinstance(encoder, Mapping) else {})
        self.bottleneck = bottleneck
        self.reader = reader

    @property
    def encoders(self) -> dict[str, Encoder]:
        """Every encoder by the name of its source."""
        if self.encoder is not None:
            return {SOURCE: self.encoder}
        several = self.sources.items()
        return {name: one for name, one in several if isinstance(one, Encoder)}

    @property
    def decoder(self) -> Decoder[Any]:
        """The reader, when it generates."""
        if not isinstance(self.reader, Decoder):
            raise UsageError(
                f"a {type(self.reader).__name__.lower()} does not generate",
                where="model.reader",
                remedy="search needs a model with a decoder or a pointer",
            )
        return self.reader

    def encode(
        self, source: Source | Sources, lengths: Int[Tensor, " batch"] | None = None
    ) -> Encoded:
        """The states of a source, or of several by name; a language model reads only what it says."""
        if isinstance(source, Mapping):
            if len(source) == 1:
                ((values, lengths),) = source.values()
                return self.encode(values, lengths)
            if self.training and self.source_dropout:
                source = _some_left_out(source, self.source_dropout)
            parts = {
                name: encoder(source[name].values, padding_of(*source[name]))
                for name, encoder in self.encoders.items()
            }
            return Encoded.several(parts)
        if self.encoder is None:
            return Encoded.nothing(len(source), next(self.parameters()))
        if self.training and self.noise is not None:
            source, lengths = self.noise(source, lengths)
        encoded = self.encoder(source, padding_of(source, lengths))
        encoded = encoded if self.bottleneck is None else self.bottleneck(encoded)
        return replace(encoded, ids=source) if source.ndim == 2 else encoded  # of tokens alone

    def forward(
        self,
        source: Source | Sources,
        lengths: Int[Tensor, " batch"] | None = None,
        inputs: Int[Tensor, "batch target"] | None = None,
    ) -> Tensor:
        """Logits: a label a word, a label a sequence, or, with `inputs`, the symbol after each input."""
        encoded = self.encode(source, lengths)
        if not isinstance(self.reader, Decoder):
            return self.reader(encoded)
        if inputs is None:
            raise UsageError(
                "a decoder is forced along given symbols",
                where="inputs",
                remedy="give the target so far as inputs, or search with regard.beam(model.reader, ...)",
            )
        return self.reader(encoded, inputs)

    def hidden(
        self,
        source: Source | Sources,
        lengths: Int[Tensor, " batch"] | None,
        inputs: Int[Tensor, "batch target"],
        packing: Packing | None = None,
    ) -> Float[Tensor, "batch target width"]:
        """Teacher forcing up to the decoder's last hidden states, which its output layer makes logits."""
        if packing is None:
            assert isinstance(self.reader, TokenDecoder)
            return self.reader.hidden(self.encode(source, lengths), inputs)
        if not isinstance(self.encoder, TransformerEncoder):
            raise _not_packed(self.encoder)
        if not isinstance(self.reader, TransformerDecoder):
            raise _not_packed(self.reader)
        if isinstance(source, Mapping):
            ((source, _),) = source.values()
        encoded = self.encoder.forward_packed(source, packing.source)
        return self.reader.hidden_packed(encoded, inputs, packing.target)


def _some_left_out(sources: Sources, share: float) -> dict[str, Padded]:
    """Each row without some of its sources, by chance; a row never loses all that it has."""
    lengths = {
        name: torch.full((len(one.values),), one.values.shape[1], device=one.values.device)
        if one.lengths is None
        else one.lengths.to(one.values.device)
        for name, one in sources.items()
    }
    real = torch.stack([own > 0 for own in lengths.values()], 1)
    kept = torch.rand(real.shape, device=real.device) >= share
    # Where all would go, one of those that are there stays: which one, is chance again.
    lucky = (torch.rand(real.shape, device=real.device) * real).argmax(1, keepdim=True)
    lost = ~(kept & real).any(1, keepdim=True)
    kept = kept | (lost & torch.zeros_like(kept).scatter(1, lucky, True))
    return {
        name: Padded(one.values, torch.where(kept[:, number], lengths[name], 0))
        for number, (name, one) in enumerate(sources.items())
    }


def _not_packed(part: nn.Module | None) -> UsageError:
    return UsageError(
        f"packed batches need Transformers on both sides, not a {type(part).__name__}",
        where="batch.packed",
        remedy="leave batch.packed = false",
    )


def count_parameters(module: nn.Module) -> int:
    """How many numbers a module learns; shared ones count once. Of what `regard.load` gives, its model's."""
    module = module if isinstance(module, nn.Module) else getattr(module, "model", module)
    if not isinstance(module, nn.Module):
        raise UsageError(
            f"{kind_of(module)} has no parameters",
            where="module",
            remedy="give a torch module, or what regard.load gives",
        )
    return sum(parameter.numel() for parameter in module.parameters())
