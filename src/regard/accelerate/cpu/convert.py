"""From a model, or from its outline and its tensors, to the lean form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import torch
from torch import Tensor, nn

from regard.accelerate.cpu.cpu_block import Feed, Norm, Reading, Residual
from regard.accelerate.cpu.cpu_decoder import LeanBlock, LeanDecoder
from regard.accelerate.cpu.cpu_encoder import LeanEncoder, Table
from regard.accelerate.cpu.kv_cache import give_back
from regard.accelerate.cpu.product import Product, product
from regard.accelerate.plain import is_plain
from regard.attention import Added, Heads, Learned, Sinusoidal
from regard.attention.gate import settled
from regard.layers import DecoderBlock, Embedding, EncoderBlock, LayerNorm
from regard.layers import FeedForward as PlainFeed
from regard.layers import Residual as PlainResidual
from regard.models.compress import SCALE, from_rows, to_rows, widened
from regard.models.encoder import Encoder, TransformerEncoder
from regard.models.model import Model
from regard.models.readers import Reader
from regard.models.transformer_decoder import TransformerDecoder

LeanWeights = Literal["float32", "int8"]


def lean(
    model: Model,
    weights: LeanWeights = "float32",
    state: dict[str, Tensor] | None = None,
) -> Model | None:
    """The model with every standard Transformer in it made lean; None if there is none.

    `state` has the tensors by name, as floats or integers with scales, and is emptied as they are
    packed; then the model's own tensors are not looked at. Readers that are no Transformers stay as they are.
    """
    if model.sources or model.bottleneck is not None:  # these are read as they are
        return None
    packing = _Packing(model.state_dict() if state is None else state, weights)
    encoder, reader = model.encoder, model.reader
    lean_encoder: Encoder | None = encoder
    lean_reader: Reader = reader
    if isinstance(encoder, TransformerEncoder) and is_known(encoder):
        lean_encoder = packing.encoder(encoder)
    if isinstance(reader, TransformerDecoder) and is_known(reader):
        lean_reader = packing.decoder(reader)
    if lean_encoder is encoder and lean_reader is reader:
        return None
    if state is not None:
        if lean_reader is reader:
            _fill(reader, "reader.", state)
        if encoder is not None and lean_encoder is encoder:
            _fill(encoder, "encoder.", state)
        give_back()
    return Model(lean_encoder, lean_reader).eval()


def _fill(side: nn.Module, prefix: str, state: dict[str, Tensor]) -> None:
    """A side that stays as it is gets its tensors; none of them need have had memory."""
    own = {name.removeprefix(prefix): state[name] for name in state if name.startswith(prefix)}
    side.load_state_dict(widened(own), assign=True)


def is_known(side: TransformerEncoder | TransformerDecoder) -> bool:
    """Whether a side is plain, reads ids, and has float32 weights and norms with gain and shift."""
    embedding = side.embedding
    if not isinstance(embedding, Embedding) or embedding.table.weight.dtype != torch.float32:
        return False
    if embedding.unknown is not None:
        return False
    norm = embedding.norm
    return is_plain(side) and (norm is None or norm.form == "standard")


@final
@dataclass(frozen=True, eq=False)
class _Packing:
    """Tensors by their path in the model, and the form they shall take."""

    state: dict[str, Tensor]
    weights: LeanWeights

    def taken(self, name: str) -> tuple[Tensor, Tensor | None]:
        """A tensor and, if it is of integers, its scales; nobody else keeps them."""
        return self.state.pop(name).detach(), self.state.pop(name + SCALE, None)

    def encoder(self, side: TransformerEncoder) -> LeanEncoder:
        blocks = []
        for number, block in enumerate(side.blocks):
            path = f"encoder.blocks.{number}"
            assert isinstance(block.attention, Heads)  # as in everything plain
            reading = self.reading(f"{path}.attention", block.attention, block.attention_residual)
            blocks.append((reading, self.feed(path, block)))
        norm = self.norm("encoder.norm", side.norm)
        assert isinstance(side.embedding, Embedding)
        table = self.table("encoder.embedding", side.embedding)
        whole = self.weights == "int8"
        return LeanEncoder(table, tuple(blocks), norm, side.width, whole=whole)

    def decoder(self, side: TransformerDecoder) -> LeanDecoder:
        blocks = []
        for number, block in enumerate(side.blocks):
            path = f"reader.blocks.{number}"
            reading = self.reading(f"{path}.attention", block.attention, block.attention_residual)
            source, cross = None, None
            if block.cross is not None and block.cross_residual is not None:
                gate = self.gate(f"{path}.cross", block.cross)
                source = self.product(f"{path}.cross.key", f"{path}.cross.value", last=gate)
                cross = self.reading(
                    f"{path}.cross", block.cross, block.cross_residual, within=False
                )
            blocks.append(LeanBlock(reading, source, cross, self.feed(path, block)))
        return LeanDecoder(
            self.table("reader.embedding", side.embedding),
            tuple(blocks),
            self.norm("reader.norm", side.norm),
            self.product("reader.output", few=True),
            begin=side.begin,
            end=side.end,
            whole=self.weights == "int8",
        )

    def reading(
        self, path: str, heads: Heads, residual: PlainResidual, *, within: bool = True
    ) -> Reading:
        """Queries are scaled and values are gated here once, not at every step."""
        parts = ("query", "key", "value") if within else ("query",)
        gate = self.gate(path, heads) if within else None
        few = path.startswith("reader")
        return Reading(
            self.residual(f"{path}_residual", residual),
            self.product(
                *(f"{path}.{part}" for part in parts),
                first=heads.attention.score.scale(heads.key_width),  # type: ignore[operator]
                last=gate,
                few=few,
            ),
            self.product(f"{path}.output", few=few),
            heads.num_heads,
            heads.key_width,
        )

    def gate(self, path: str, heads: Heads) -> Tensor | None:
        """One number for each row of the values: a gate times a sum of values is a sum of gated values."""
        gate = self.state.pop(f"{path}.gate", None)
        openness = self.state.pop(f"{path}.openness", None)
        if openness is not None:
            gate = settled(openness.detach())
        if gate is None or bool((gate == 1).all()):
            return None
        return gate.detach().float().repeat_interleave(heads.value_width)

    def feed(self, path: str, block: EncoderBlock | DecoderBlock) -> Feed:
        feed: PlainFeed | None = block.feedforward
        assert feed is not None
        assert block.feedforward_residual is not None
        few = path.startswith("reader")
        return Feed(
            self.residual(f"{path}.feedforward_residual", block.feedforward_residual),
            self.product(f"{path}.feedforward.widen", few=few),
            self.product(
                f"{path}.feedforward.narrow", few=few, after_relu=feed.activation == "relu"
            ),
            feed.activation,
        )

    def residual(self, path: str, residual: PlainResidual) -> Residual:
        norm = self.norm(f"{path}.norm", residual.norm)
        assert norm is not None
        return Residual(norm, residual.order == "pre")

    def norm(self, path: str, norm: LayerNorm | None) -> Norm | None:
        if norm is None:
            return None
        return Norm(self.floats(f"{path}.weight"), self.floats(f"{path}.bias"), norm.eps)

    def table(self, path: str, embedding: Embedding) -> Table:
        name = f"{path}.table.weight"
        rows, scale = self.taken(name)
        if self.weights == "int8" and scale is None:
            rows, scale = to_rows(rows)
        elif self.weights == "float32" and scale is not None:
            rows, scale = from_rows(rows, scale), None
        position: Added | None = None
        match embedding.position:
            case Sinusoidal(width=width, base=base, layout=layout):
                position = Sinusoidal(width, base, layout)
            case Learned(width=width):
                position = Learned(width, 1)
                weight = self.floats(f"{path}.position.weight")
                position.weight = nn.Parameter(weight, requires_grad=False)
            case _:
                pass
        norm = self.norm(f"{path}.norm", embedding.norm)
        return Table(rows, scale, embedding.scale, position, norm)

    def product(
        self,
        *paths: str,
        first: float = 1.0,
        last: Tensor | None = None,
        few: bool = False,
        after_relu: bool = False,
    ) -> Product:
        """One product of several maps of the same input; the first result is scaled, the last gated."""
        taken = [self.taken(f"{path}.weight") for path in paths]
        parts, scales = [part for part, _ in taken], [scale for _, scale in taken]
        biases = [self.state.pop(f"{path}.bias", None) for path in paths]
        bias = None
        if biases[0] is not None:
            bias = torch.cat([b.detach().float() for b in biases if b is not None])
            bias[: len(parts[0])] *= first
            if last is not None:
                bias[-len(parts[-1]) :] *= last
        del taken
        if last is not None:
            parts[-1], scales[-1] = _gated(parts[-1], scales[-1], last)
        weights, scale = self._joined(parts, scales, first)
        return product(weights, scale, bias, self.weights, few=few, after_relu=after_relu)

    def _joined(
        self, parts: list[Tensor], scales: list[Tensor | None], first: float
    ) -> tuple[Tensor, Tensor | None]:
        if self.weights == "float32":
            floats = [
                part if scale is None else from_rows(part, scale)
                for part, scale in zip(parts, scales, strict=True)
            ]
            if first != 1.0:
                floats[0] = floats[0] * first
            return (torch.cat(floats) if len(floats) > 1 else floats[0]), None
        pairs = [
            to_rows(part) if scale is None else (part, scale)
            for part, scale in zip(parts, scales, strict=True)
        ]
        pairs[0] = (pairs[0][0], pairs[0][1] * first)
        whole = torch.cat([w for w, _ in pairs]) if len(pairs) > 1 else pairs[0][0]
        return whole, torch.cat([scale for _, scale in pairs])

    def floats(self, name: str) -> Tensor:
        """A vector, or a small table, as floats."""
        tensor, scale = self.taken(name)
        return tensor.float() if scale is None else from_rows(tensor, scale)


def _gated(weight: Tensor, scale: Tensor | None, gate: Tensor) -> tuple[Tensor, Tensor | None]:
    """The rows of a map, each times its gate; scales of integers stay above 0."""
    if scale is None:
        return weight * gate.unsqueeze(1), None
    sign = gate.sign().to(weight.dtype).unsqueeze(1)
    return weight * sign, scale * torch.where(gate == 0, 1.0, gate.abs()).view_as(scale)
