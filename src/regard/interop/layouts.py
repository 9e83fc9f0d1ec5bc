"""How other libraries name the weights of a Transformer block beside ours, and how they lay them together.

One table serves both directions: a model of ours that leaves, and one that is brought in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

import torch
from torch import Tensor

Form = Literal["same", "transposed", "joined", "joined-transposed", "by-head"]

_BART = {
    "attention.query": "self_attn.q_proj",
    "attention.key": "self_attn.k_proj",
    "attention.value": "self_attn.v_proj",
    "attention.output": "self_attn.out_proj",
    "attention_residual.norm": "self_attn_layer_norm",
    "cross.query": "encoder_attn.q_proj",
    "cross.key": "encoder_attn.k_proj",
    "cross.value": "encoder_attn.v_proj",
    "cross.output": "encoder_attn.out_proj",
    "cross_residual.norm": "encoder_attn_layer_norm",
    "feedforward.widen": "fc1",
    "feedforward.narrow": "fc2",
    "feedforward_residual.norm": "final_layer_norm",
}
_BERT = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "attention_residual.norm": "attention.output.LayerNorm",
    "feedforward.widen": "intermediate.dense",
    "feedforward.narrow": "output.dense",
    "feedforward_residual.norm": "output.LayerNorm",
}
_GPT2 = {
    "attention.query+key+value": "attn.c_attn",
    "attention.output": "attn.c_proj",
    "attention_residual.norm": "ln_1",
    "feedforward.widen": "mlp.c_fc",
    "feedforward.narrow": "mlp.c_proj",
    "feedforward_residual.norm": "ln_2",
}
_NEOX = {
    "attention.query+key+value": "attention.query_key_value",
    "attention.output": "attention.dense",
    "attention_residual.norm": "input_layernorm",
    "feedforward.widen": "mlp.dense_h_to_4h",
    "feedforward.narrow": "mlp.dense_4h_to_h",
    "feedforward_residual.norm": "post_attention_layernorm",
}


@final
@dataclass(frozen=True)
class Pair:
    """One tensor of theirs, and which of ours it holds."""

    theirs: str
    ours: tuple[str, ...]
    form: Form = "same"


@final
@dataclass(frozen=True)
class Layout:
    """One architecture: where a stack lies, what its parts are called, and the norm at its top."""

    kind: str  # `model_type` in config.json
    stack: str  # where the blocks of a stack lie: {} is encoder or decoder, if there are both
    parts: Mapping[str, str]
    top: str | None = None  # the norm behind the last block; {} as above
    joined: Form = "same"  # of q, k and v, where they are one tensor
    transposed: bool = False  # weights are (in, out)

    def pairs(self, ours: str, layers: int, side: str = "") -> Iterator[Pair]:
        """The tensors of one stack, `encoder` or `reader` of ours."""
        for layer in range(layers):
            for part, name in self.parts.items():
                if part.startswith("cross") and side != "decoder":
                    continue
                place = f"{self.stack.format(side)}.{layer}.{name}"
                yield from self._linear(f"{ours}.blocks.{layer}.", part, place)
        if self.top is not None:
            for end in ("weight", "bias"):
                yield Pair(f"{self.top.format(side)}.{end}", (f"{ours}.norm.{end}",))

    def _linear(self, block: str, part: str, place: str) -> Iterator[Pair]:
        where, _, names = part.rpartition(".")
        several = tuple(f"{block}{where}.{name}" for name in names.split("+"))
        turned = self.transposed and not names.endswith("norm")
        for end in ("weight", "bias"):
            form: Form = self.joined if len(several) > 1 else "same"
            if turned and end == "weight":
                form = "joined-transposed" if len(several) > 1 else "transposed"
            yield Pair(f"{place}.{end}", tuple(f"{one}.{end}" for one in several), form)


_ESM = _BERT | {
    "attention_residual.norm": "attention.LayerNorm",
    "feedforward_residual.norm": "LayerNorm",
}
_MEGATRON = _BERT | {"attention_residual.norm": "attention.ln", "feedforward_residual.norm": "ln"}

LAYOUTS = {
    one.kind: one
    for one in (
        Layout("marian", "model.{}.layers", _BART),
        Layout("bart", "model.{}.layers", _BART),
        Layout("pegasus", "model.{}.layers", _BART, "model.{}.layer_norm"),
        Layout("mbart", "model.{}.layers", _BART, "model.{}.layer_norm"),
        Layout("gpt2", "transformer.h", _GPT2, "transformer.ln_f", "joined", transposed=True),
        Layout("gpt_neox", "gpt_neox.layers", _NEOX, "gpt_neox.final_layer_norm", "by-head"),
        Layout("bert", "bert.encoder.layer", _BERT),
        Layout("megatron-bert", "bert.encoder.layer", _MEGATRON, "bert.encoder.ln"),
        Layout("esm", "esm.encoder.layer", _ESM, "esm.encoder.emb_layer_norm_after"),
    )
}


def laid_together(form: Form, ours: Sequence[Tensor], heads: int) -> Tensor:
    """Their tensor of ours."""
    match form:
        case "same":
            return ours[0]
        case "transposed":
            return ours[0].T
        case "joined":
            return torch.cat(list(ours))
        case "joined-transposed":
            return torch.cat(list(ours)).T
        case "by-head":
            split = [one.unflatten(0, (heads, -1)) for one in ours]
            return torch.cat(split, 1).flatten(0, 1)


def taken_apart(form: Form, theirs: Tensor, heads: int) -> list[Tensor]:
    """Ours of their tensor."""
    match form:
        case "same":
            return [theirs]
        case "transposed":
            return [theirs.T]
        case "joined":
            return list(theirs.chunk(3))
        case "joined-transposed":
            return list(theirs.T.chunk(3))
        case "by-head":
            split = theirs.unflatten(0, (heads, -1)).chunk(3, 1)
            return [one.flatten(0, 1) for one in split]
